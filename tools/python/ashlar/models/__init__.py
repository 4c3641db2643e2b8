# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks to try: published ones, fetched and checked; drawn ones, made from papers.

`table` and `fetch` need Python's own library only; `draw` needs numpy and onnx.
"""
