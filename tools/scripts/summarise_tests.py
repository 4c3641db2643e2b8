#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Turns lit's JSON results into the list of skips and the final count.

usage: summarise_tests.py RESULTS.json SKIP-REASONS.txt LIT-STATUS

The exit code is non-zero if a test failed, if nothing ran, or if lit itself
failed.
"""

import json
import os
import re
import sys

FAILED = {"FAIL", "XPASS", "TIMEOUT", "UNRESOLVED"}
PASSED = {"PASS", "FLAKYPASS"}


def read_reasons(path):
    reasons = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                name, _, reason = line.rstrip("\n").partition("\t")
                reasons[name] = reason
    return reasons


def skip_reason(test, reasons):
    """The features that were missing, in words where lit.cfg.py has them."""
    if test["code"] == "XFAIL":
        return "known to miss the target that it names"
    match = re.search(r"unavailable features: (.*)", test.get("output") or "")
    if not match:
        lines = (test.get("output") or "").strip().splitlines()
        return lines[-1] if lines else "skipped by the test itself"
    names = [name.strip() for name in match.group(1).split(",")]
    return "; ".join(reasons.get(name, "needs " + name) for name in names)


def main(results_path, reasons_path, lit_status):
    if not os.path.exists(results_path):
        print("no results: lit did not finish")
        print("0 passed, 1 failed, 0 skipped")
        return 1
    with open(results_path, encoding="utf-8") as stream:
        tests = json.load(stream)["tests"]
    reasons = read_reasons(reasons_path)
    passed = [t for t in tests if t["code"] in PASSED]
    failed = [t for t in tests if t["code"] in FAILED]
    skipped = [t for t in tests if t["code"] not in PASSED | FAILED]
    for test in sorted(skipped, key=lambda t: t["name"]):
        print(f"skipped: {test['name']}: {skip_reason(test, reasons)}")
    for test in sorted(failed, key=lambda t: t["name"]):
        print(f"failed: {test['name']}")
    if not passed and not failed:
        print("nothing ran")
    if lit_status and not failed:
        print(f"lit itself failed with exit code {lit_status}")
    print(f"{len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped")
    return int(bool(failed or lit_status or not passed))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
