# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ashlar: compiles ONNX models for neural accelerators and runs them bit exactly.

    import ashlar
    program = ashlar.compile("model.onnx", machine="a1", format="bfp8")
    outputs = program.run({"image": array})
    print(program.cycles)

The libraries are loaded with the first name that needs them, so that the
sub-packages of pure Python work without them.
"""

import importlib
import pkgutil

# A build has the extension in a folder of its own.
__path__ = pkgutil.extend_path(__path__, __name__)

_HOMES = {
    "Program": "_program", "Run": "_program", "Tensor": "_program",
    "compile": "_compile", "load": "_program", "__version__": "_program",
    "Error": "_errors", "InternalError": "_errors", "UsageError": "_errors",
    "UnsupportedError": "_errors", "MalformedError": "_errors",
    "CapacityError": "_errors", "MismatchError": "_errors",
}

__all__ = sorted(name for name in _HOMES if not name.startswith("_"))


def __getattr__(name):
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'ashlar' has no attribute '{name}'")
    value = getattr(importlib.import_module("ashlar." + home), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *_HOMES])
