# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which part of a plan this process computes.

Shard k of n takes the points i with i mod n = k. The command line says k and n,
or the environment of a scheduler does.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .errors import usage


@dataclass(frozen=True)
class Shard:
    """One of `count` equal parts of a plan, and who said so."""

    index: int = 0
    count: int = 1
    source: str = "the whole plan"

    def takes(self, point: int) -> bool:
        """Whether the point with this index belongs to the shard."""
        return point % self.count == self.index

    def __str__(self) -> str:
        return f"shard {self.index}/{self.count} ({self.source})"


def parse_shard(text: str) -> Shard:
    """The shard of `--shard=k/n`."""
    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
    if not match or not int(match[1]) < int(match[2]):
        raise usage(f"--shard={text}: expected k/n with 0 <= k < n, as in --shard=0/4")
    return Shard(int(match[1]), int(match[2]), "--shard")


def _number(environment: Mapping[str, str], name: str) -> int | None:
    text = environment.get(name)
    if text is None or text == "":
        return None
    if not re.fullmatch(r"\d{1,9}", text):
        raise usage(f"{name} is '{text}', expected a number; --shard=k/n overrides it")
    return int(text)


def _pair(environment: Mapping[str, str], index: str, count: str) -> Shard | None:
    """A shard of two variables; one process of one is not a shard."""
    k, n = _number(environment, index), _number(environment, count)
    if k is None or n is None or n <= 1:
        return None
    if k >= n:
        raise usage(f"{index} is {k} and {count} is {n}: expected less; --shard=k/n overrides both")
    return Shard(k, n, f"{index} of {count}")


def _slurm_array(environment: Mapping[str, str]) -> Shard | None:
    task = _number(environment, "SLURM_ARRAY_TASK_ID")
    count = _number(environment, "SLURM_ARRAY_TASK_COUNT")
    if task is None or count is None:
        return None
    first = _number(environment, "SLURM_ARRAY_TASK_MIN") or 0
    last = _number(environment, "SLURM_ARRAY_TASK_MAX")
    step = _number(environment, "SLURM_ARRAY_TASK_STEP") or 1
    # An array like 3,7,12 has as many tasks as it lists, but its numbers are
    # those of a larger plan: guessing would leave points out.
    if count > 1 and last is not None and last - first != (count - 1) * step:
        raise usage(f"the Slurm array has {count} tasks numbered {first} to {last}: their numbers are "
                    "no whole range, so that they do not say how many shards the plan has; give --shard=k/n")
    index, rest = divmod(task - first, step)
    if rest or not 0 <= index < count:
        raise usage(f"SLURM_ARRAY_TASK_ID is {task}, not one of {count} tasks from {first} in steps of "
                    f"{step}; give --shard=k/n")
    return Shard(index, count, "Slurm array") if count > 1 else None


def _kubernetes(environment: Mapping[str, str]) -> Shard | None:
    index = _number(environment, "JOB_COMPLETION_INDEX")
    if index is None:
        return None
    count = _number(environment, "JOB_COMPLETIONS")
    if count is None:
        raise usage("JOB_COMPLETION_INDEX is set, but Kubernetes does not tell a container how many "
                    "completions the job has: set JOB_COMPLETIONS in its env, or give --shard=k/n")
    return _pair(environment, "JOB_COMPLETION_INDEX", "JOB_COMPLETIONS")


def find_shard(text: str | None, environment: Mapping[str, str]) -> Shard:
    """The shard of the option if given, else of the scheduler, else everything.

    A job array whose tasks start several processes each divides its shards again.
    """
    if text is not None:
        return parse_shard(text)
    array = _slurm_array(environment)
    # Of a step that srun started: a batch script alone has SLURM_NTASKS as well.
    step = _pair(environment, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS")
    step = step or _pair(environment, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")
    step = step or _pair(environment, "PMI_RANK", "PMI_SIZE")
    if array and step:
        return Shard(array.index * step.count + step.index, array.count * step.count,
                     f"{array.source}, {step.source}")
    return array or step or _kubernetes(environment) or Shard()


