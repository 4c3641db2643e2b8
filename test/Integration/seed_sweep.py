# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The loop of a test that draws a case from every seed."""

import argparse
import collections
import os
import shutil
import subprocess
import tempfile
import time


class Mismatch(Exception):
    """What a case did wrong."""


def run(check, seed, keep):
    """(outcome, text) of one seed; a failure's files go to the folder `keep`."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            outcome, text = check(seed, folder)
        except subprocess.TimeoutExpired as error:
            outcome, text = "FAIL", f"no end after {error.timeout} s: {error.cmd}"
        except (Mismatch, SystemExit) as error:
            outcome, text = "FAIL", str(error)
        if outcome == "FAIL" and keep:
            shutil.copytree(folder, os.path.join(keep, str(seed)), dirs_exist_ok=True)
        options = os.path.join(folder, "options")
        if outcome == "FAIL" and os.path.exists(options):
            with open(options, encoding="utf-8") as file:
                text += "\n  options " + " ".join(file.read().split())
    return outcome, text


def main(doc, things, check):
    """Exit code of a sweep: 1 if a seed fails, or none is equal.

    `check(seed, folder)` gives ('equal' | 'refused' | 'FAIL', text) or raises a
    Mismatch; a file `options` that it leaves in the folder is shown with a failure.
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--seeds", default="0:20")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--keep")
    parser.add_argument("--verbose", action="store_true")
    chosen = parser.parse_args()
    first, last = map(int, chosen.seeds.split(":"))
    end = time.monotonic() + chosen.seconds if chosen.seconds else None
    outcomes = collections.Counter()
    seed = first
    while seed < last if end is None else time.monotonic() < end:
        outcome, text = run(check, seed, chosen.keep)
        outcomes[outcome] += 1
        if chosen.verbose or outcome != "equal":
            print(outcome, seed, text, flush=True)
        seed += 1
    print(f"{seed - first} {things}: {outcomes['equal']} equal in every bit, "
          f"{outcomes['refused']} refused, {outcomes['FAIL']} failures")
    return int(bool(outcomes["FAIL"]) or not outcomes["equal"])
