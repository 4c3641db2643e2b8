# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fp32 network: ONNX Runtime if there is one, else the project's own interpreter."""

import importlib.util
import os
import threading
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..campaign.errors import Exit, Failure, usage
from ..campaign.toolbox import Toolbox
from .model import Signature

CHOICES = ("auto", "onnxruntime", "ashlar")
SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"


class Reference(Protocol):
    """Computes outputs for stacked samples."""

    def run(self, model: Path, inputs: dict[str, np.ndarray], scratch: Path) -> dict[str, np.ndarray]: ...

    def close(self) -> None: ...


def _node_runtime() -> Any | None:
    """The project's bridge to onnxruntime-node; only a checkout has it."""
    script = SCRIPTS / "ort.py"
    if not script.is_file():
        return None
    spec = importlib.util.spec_from_file_location("ashlar_ort", script)
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module if module.available() else None


def choose(wanted: str) -> str:
    """The name of the reference to use."""
    if wanted not in CHOICES:
        raise usage(f"--reference={wanted}: expected {', '.join(CHOICES)}")
    if wanted == "ashlar":
        return "ashlar-reference"
    if importlib.util.find_spec("onnxruntime"):
        return "onnxruntime"
    if _node_runtime():
        return "onnxruntime-node"
    if wanted == "onnxruntime":
        raise usage("--reference=onnxruntime: neither Python's onnxruntime nor onnxruntime-node in ASHLAR_ORT")
    return "ashlar-reference"


def make(name: str, tools: Toolbox, signature: Signature) -> Reference:
    """The reference of a plan; an error where this machine lacks it."""
    if name == "ashlar-reference":
        return Interpreter(tools, signature)
    if name == "onnxruntime" and importlib.util.find_spec("onnxruntime"):
        return Runtime(signature)
    if name == "onnxruntime-node" and (bridge := _node_runtime()):
        return NodeRuntime(bridge, signature)
    raise Failure(Exit.USAGE, f"the plan compares with {name}, which is not here; make the plan with "
                              "--reference=ashlar, which is everywhere")


class Interpreter:
    """ashlar-reference: the same bits on every host."""

    def __init__(self, tools: Toolbox, signature: Signature) -> None:
        self.tools, self.shapes = tools, signature.shapes

    def run(self, model: Path, inputs: dict[str, np.ndarray], scratch: Path) -> dict[str, np.ndarray]:
        given, made = scratch / "reference-in.npz", scratch / "reference-out.npz"
        np.savez(given, **inputs)
        self.tools.run("ashlar-reference", [str(model), f"--inputs={given}", f"--outputs={made}",
                                            *(f"--input-shape={shape}" for shape in self.shapes)],
                       scratch, {str(scratch) + "/": ""})
        with np.load(made) as archive:
            return dict(archive)

    def close(self) -> None:
        """Nothing stays."""


def _split(inputs: dict[str, np.ndarray], batch: int) -> list[dict[str, np.ndarray]]:
    count = len(next(iter(inputs.values()))) // batch
    return [{name: np.ascontiguousarray(array[k * batch:(k + 1) * batch]) for name, array in inputs.items()}
            for k in range(count)]


class Runtime:
    """onnxruntime of Python, one thread: jobs run in parallel with each other."""

    def __init__(self, signature: Signature) -> None:
        self.signature, self.sessions = signature, threading.local()

    def run(self, model: Path, inputs: dict[str, np.ndarray], scratch: Path) -> dict[str, np.ndarray]:
        import onnxruntime

        session = getattr(self.sessions, "session", None)
        if session is None:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = 1
            session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
            self.sessions.session = session
        names = [output.name for output in session.get_outputs()]
        parts = [session.run(names, feeds) for feeds in _split(inputs, self.signature.batch)]
        return {name: np.concatenate([np.atleast_1d(part[k]) for part in parts])
                for k, name in enumerate(names)}

    def close(self) -> None:
        """Sessions end with their threads."""


class NodeRuntime:
    """onnxruntime-node, one process per thread that asks."""

    def __init__(self, bridge: Any, signature: Signature) -> None:
        self.bridge, self.signature, self.own = bridge, signature, threading.local()
        self.servers: list[Any] = []

    def run(self, model: Path, inputs: dict[str, np.ndarray], scratch: Path) -> dict[str, np.ndarray]:
        server = getattr(self.own, "server", None)
        if server is None:
            server = self.own.server = self.bridge.Server(threads=1)
            self.servers.append(server)
        try:
            parts = server.run(os.fspath(model), _split(inputs, self.signature.batch), optimisation="all")
        except self.bridge.Refused as error:
            raise Failure(Exit.UNSUPPORTED, f"ONNX Runtime: {error}; --reference=ashlar compares with the "
                                            "project's own interpreter") from None
        return {name: np.concatenate([np.atleast_1d(part[name]) for part in parts]) for name in parts[0]}

    def close(self) -> None:
        """Ends the processes."""
        for server in self.servers:
            server.close()
