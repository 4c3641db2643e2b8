# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ashlar: compiles ONNX models for neural accelerators and runs them bit exactly.

    import ashlar
    program = ashlar.compile("model.onnx", machine="a1", format="bfp8")
    outputs = program.run({"image": array})
    print(program.cycles)

The libraries are loaded with the first name that needs them, so that the
sub-packages of pure Python work without them.
"""

import importlib as _importlib
import pkgutil as _pkgutil

# A build has the extension in a folder of its own.
__path__ = _pkgutil.extend_path(__path__, __name__)

_MODULES = {
    "Program": "_program", "Run": "_program", "Tensor": "_program",
    "compile": "_compile", "load": "_program", "__version__": "_program",
    "Error": "_errors", "InternalError": "_errors", "UsageError": "_errors",
    "UnsupportedError": "_errors", "MalformedError": "_errors",
    "CapacityError": "_errors", "MismatchError": "_errors",
}

__all__ = sorted(name for name in _MODULES if not name.startswith("_"))


def __getattr__(name):
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'ashlar' has no attribute '{name}'")
    value = getattr(_importlib.import_module("ashlar." + module), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({name for name in globals() if name.startswith("__")} | set(_MODULES))
