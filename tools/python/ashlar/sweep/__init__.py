# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sweeps: models x machines x options, as one table and plots."""
