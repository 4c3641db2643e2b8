# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans as Slurm job arrays: submit, wait, and leave the merge to the caller."""

import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from .command import Parser
from .errors import Exit, Failure, usage
from .files import write_whole


@dataclass
class SlurmJob:
    """An array of `shards` tasks that compute the plan of a folder."""

    tool: str
    folder: Path
    shards: int
    sbatch: list[str] = field(default_factory=list)
    tools: Path | None = None
    jobs: int | None = None

    def script(self) -> str:
        """The batch script; a task finds its shard in Slurm's variables."""
        folder = self.folder.resolve()
        command = [str(Path(sys.argv[0]).absolute()), "run", str(folder / "plan.json"),
                   "-o", str(folder / "results"), "--quiet"]
        if self.tools:
            command.append(f"--tools={self.tools}")
        if self.jobs:
            command.append(f"--jobs={self.jobs}")
        return "\n".join([
            "#!/bin/sh",
            f"#SBATCH --job-name={self.tool}",
            f"#SBATCH --array=0-{self.shards - 1}",
            f"#SBATCH --output={folder}/slurm-%A_%a.log",
            "exec " + shlex.join(command), ""])


def slurm_options(parser: Parser) -> None:
    """What submit takes besides."""
    parser.option("shards", "N", "tasks of the job array", group="Slurm options", number=True, required=True)
    parser.option("sbatch", "OPTION", "an option of sbatch, as --sbatch=--partition=long; repeat for several",
                  group="Slurm options", repeats=True)


def submit(job: SlurmJob) -> None:
    """Submits the array and waits for its end.

    Tasks that fail are an error with the way on: results that are there stay, so
    that the same command computes only what is missing.
    """
    if not shutil.which("sbatch"):
        raise usage("sbatch is not on PATH: submit needs Slurm; run computes the plan here")
    script = job.folder / "array.sh"
    write_whole(script, job.script().encode())
    done = subprocess.run(["sbatch", "--parsable", "--wait", *job.sbatch, str(script)],
                          text=True, capture_output=True)
    number = done.stdout.strip().split(";")[0]
    if not number:
        raise Failure(Exit.USAGE, f"sbatch: {' '.join(done.stderr.split()) or 'nothing said'}")
    if done.returncode:
        raise Failure(Exit.INTERNAL, f"tasks of Slurm job {number} failed, see {job.folder}/slurm-{number}_*.log; "
                                     "the same command computes what is missing")
