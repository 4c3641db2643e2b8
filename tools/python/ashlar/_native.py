# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The extension module, or why it is not there."""

try:
    from ashlar import _ashlar as native  # noqa: F401
except ImportError as problem:
    raise ImportError(
        f"the libraries of Ashlar cannot be loaded ({problem}); build them with "
        "tools/build and put build/python before this folder on PYTHONPATH, or "
        "install the Debian package or the wheel (docs/Api.md)") from problem
