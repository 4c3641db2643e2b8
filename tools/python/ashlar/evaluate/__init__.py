# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluations: accuracy and latency of a model over a data set."""
