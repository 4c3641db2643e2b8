# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computes the points of a shard, several at a time, and keeps what is done."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass

from .errors import Exit, Failure
from .progress import Progress
from .shard import Shard
from .store import Plan, Results
from .toolbox import Toolbox, ToolFailure


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


@dataclass
class Work:
    """What running a plan needs besides the plan."""

    tools: Toolbox
    jobs: int
    quiet: bool = False
    retry: bool = False

    def threads(self, points: int) -> int:
        """Threads of one tool, so that all of them together fill the machine."""
        return max(1, cores() // max(1, min(self.jobs, points)))


@contextmanager
def ended_by_signals(tools: Toolbox) -> Iterator[None]:
    """SIGTERM, as schedulers send it, ends as Ctrl-C does: tools first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: object) -> None:
        tools.stop()
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def failed(error: Failure) -> dict:
    """The result of a point that cannot be computed."""
    return {"status": "failed", "exit": int(error.code), "message": str(error)}


def check_tools(plan: Plan, tools: Toolbox) -> None:
    """A plan is computed with the tools that it was made for, and no others."""
    found = tools.digests()
    for name, wanted in plan.body["tools"].items():
        if found.get(name) != wanted:
            raise Failure(Exit.USAGE, f"{tools.folder / name} is not the {name} that the plan was made with: "
                                      "results of two versions do not mix; make the plan again, or give "
                                      "--tools=FOLDER")


def run_points(plan: Plan, results: Results, shard: Shard, work: Work, stage: str,
               compute: Callable[[dict, int], dict], name: Callable[[dict], str]) -> int:
    """Computes what the shard lacks; how many points that were.

    `compute` gets a point and a number of threads. An error of a tool is the
    result of its point; any other error, as a model that changed since the plan,
    ends the run, and what is done stays.
    """
    mine = [p for i, p in enumerate(plan.points) if shard.takes(i)]
    todo = []
    for point in mine:
        result = results.read(point)
        if result is None or (work.retry and result.get("status") == "failed"):
            todo.append(point)
    threads = work.threads(len(todo))

    def one(point: dict) -> None:
        try:
            result = compute(point, threads)
        except ToolFailure as error:
            result = failed(error)
        results.write(point, result)
        progress.step(name(point))

    with Progress(stage, len(todo), work.quiet) as progress, ended_by_signals(work.tools):
        with ThreadPoolExecutor(max_workers=work.jobs) as pool:
            tasks = [pool.submit(one, point) for point in todo]
            try:
                done, _ = wait(tasks, return_when=FIRST_EXCEPTION)
                for task in done:
                    task.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                work.tools.stop()
                raise
    return len(todo)
