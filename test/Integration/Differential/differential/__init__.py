# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of differential.py: drawn networks, machines and options, and how they are judged."""
