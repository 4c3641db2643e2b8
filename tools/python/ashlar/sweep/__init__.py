# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sweeps: models x machines x options, as one table and plots.

    import ashlar.sweep
    table = ashlar.sweep.run({"models": ["model.onnx"], "machines": ["a1", "a1-edge"]})
"""

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from .._errors import CLASSES, InternalError
from .._tables import tabulate

_Path = str | os.PathLike[str]


def run(sweep: _Path | Mapping[str, Any], folder: _Path | None = None, *, jobs: int | None = None,
        plots: bool = True, retry: bool = False, reuse: Sequence[_Path] = (), tools: _Path | None = None) -> Any:
    """Computes a sweep; its table as a DataFrame, or as a list of dicts without pandas.

    `sweep` is a YAML file or what one would say (docs/Sweeps.md); files in the
    latter are relative to the current folder. Table, plots and results stay in
    `folder`, which an unfinished sweep resumes; without one nothing stays. Points
    that fail are rows with a message.
    """
    from ..campaign.errors import Failure

    try:
        return tabulate(_run(sweep, folder, SimpleNamespace(
            jobs=jobs, quiet=True, retry=retry, reuse=list(reuse), no_plots=not plots or folder is None,
            tools=tools and os.fspath(tools))))
    except Failure as error:
        raise CLASSES.get(int(error.code), InternalError)(str(error)) from None


def _run(sweep: _Path | Mapping[str, Any], folder: _Path | None, options: SimpleNamespace) -> list[dict]:
    from ..campaign.shard import Shard
    from ..campaign.store import RESULTS, collect, settle
    from ..campaign.toolbox import find_toolbox
    from .cli import Sweep
    from .config import make_sweep, read_sweep
    from .expand import make_plan

    tools = find_toolbox(options.tools, sys.argv[0])
    wanted = make_sweep(_plain(sweep), "sweep") if isinstance(sweep, Mapping) else read_sweep(os.fspath(sweep))
    with tempfile.TemporaryDirectory(prefix="ashlar-") as scratch:
        out = Path(folder or scratch)
        plan = make_plan(wanted, tools, out)
        settle(plan, out)
        campaign = Sweep()
        campaign.prepare(options)
        campaign.compute(plan, out / RESULTS, tools, options, Shard())
        return campaign.write(plan, collect(plan, [out / RESULTS]), out, not options.no_plots)[0]


def _plain(value: Any) -> Any:
    """Mappings, lists and texts as YAML has them."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value
