# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans and results as files: what is refused, and what survives."""

import json
import os
import tempfile
import unittest
from pathlib import Path

from ashlar.campaign.errors import Failure
from ashlar.campaign.files import digest, write_whole
from ashlar.campaign.store import Plan, Results, collect, read_plan, settle


def plan_of(names, folder):
    return Plan({"kind": "test plan", "schema": 1,
                 "points": [{"id": digest(name), "name": name} for name in names]}, folder)


class Store(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = Path(self.scratch.name)
        self.plan = plan_of("abc", self.folder)

    def filled(self, name, points="abc", plan=None):
        results = Results(self.folder / name, plan or self.plan)
        results.claim()
        for point in (plan or self.plan).points:
            if point["name"] in points:
                results.write(point, {"value": point["name"]})
        return results

    def refused(self, words, *folders):
        with self.assertRaisesRegex(Failure, words):
            collect(self.plan, [self.folder / name for name in folders])

    def test_one_folder_or_many(self):
        self.filled("whole")
        self.filled("first", "ac")
        self.filled("second", "b")
        whole = collect(self.plan, [self.folder / "whole"])
        self.assertEqual([r["value"] for r in whole], ["a", "b", "c"])
        self.assertEqual(collect(self.plan, [self.folder / "second", self.folder / "first"]), whole)

    def test_missing(self):
        self.filled("some", "a")
        self.refused("2 of 3 points are missing .numbers 1, 2", "some")

    def test_duplicate(self):
        self.filled("first", "ab")
        self.filled("second", "bc")
        self.refused("duplicate", "first", "second")

    def test_foreign_point(self):
        results = self.filled("whole")
        write_whole(results.folder / "points" / f"{digest('x')}.json", b"{}")
        self.refused("foreign", "whole")

    def test_foreign_plan(self):
        self.filled("other", "xyz", plan_of("xyz", self.folder))
        self.refused("another plan", "other")

    def test_no_results_folder(self):
        (self.folder / "mine").mkdir()
        (self.folder / "mine" / "thesis.tex").write_text("precious")
        self.refused("not a results folder", "mine")
        with self.assertRaisesRegex(Failure, "is not a results folder .found 'thesis.tex'"):
            Results(self.folder / "mine", self.plan).claim()
        self.assertEqual(os.listdir(self.folder / "mine"), ["thesis.tex"])

    def test_damaged(self):
        results = self.filled("whole")
        path = results.path(self.plan.points[1])
        value = json.loads(path.read_text())
        value["result"]["value"] = "z"
        path.write_text(json.dumps(value))
        self.assertIsNone(results.read(self.plan.points[1]))
        self.refused("damaged", "whole")
        path.write_text("{")
        self.assertIsNone(results.read(self.plan.points[1]))

    def test_result_under_another_name(self):
        results = self.filled("whole", "ab")
        os.rename(results.path(self.plan.points[0]), results.path(self.plan.points[2]))
        self.refused("missing", "whole")
        results.write(self.plan.points[0], {"value": "a"})
        self.refused("damaged", "whole")

    def test_left_by_a_killed_process(self):
        results = self.filled("whole")
        (results.folder / "points" / ".x.partial").write_bytes(b"half")
        self.assertEqual(len(collect(self.plan, [results.folder])), 3)

    def test_taken_over(self):
        self.filled("old", "ab")
        wider = plan_of("abd", self.folder)
        results = Results(self.folder / "new", wider)
        results.claim()
        self.assertEqual(results.adopt(self.folder / "old"), 2)
        self.assertEqual(results.read(wider.points[1]), {"value": "b"})

    def test_changed_plan(self):
        path = self.folder / "plan.json"
        self.plan.write(path)
        self.assertEqual(read_plan(path, "test plan").body, self.plan.body)
        path.write_text(path.read_text().replace('"name": "a"', '"name": "z"'))
        with self.assertRaisesRegex(Failure, "digest"):
            read_plan(path, "test plan")
        with self.assertRaisesRegex(Failure, "expected a file of the sub-command plan .other plan."):
            read_plan(path, "other plan")

    def test_own_folder(self):
        for _ in range(2):
            settle(self.plan, self.folder / "sweep")
        (self.folder / "mine").mkdir()
        (self.folder / "mine" / "thesis.tex").write_text("precious")
        for name, words in (("mine", "found 'thesis.tex'"), ("mine/thesis.tex", "a file")):
            with self.assertRaisesRegex(Failure, words):
                settle(self.plan, self.folder / name)
        with self.assertRaisesRegex(Failure, "another plan"):
            settle(plan_of("xyz", self.folder), self.folder / "sweep")
        self.assertEqual(read_plan(self.folder / "sweep" / "plan.json", "test plan").body, self.plan.body)

    def test_files_appear_whole(self):
        path = self.folder / "deep" / "file"
        for data in (b"first", b"second"):
            write_whole(path, data)
            self.assertEqual(path.read_bytes(), data)
            self.assertEqual(os.listdir(path.parent), ["file"])


if __name__ == "__main__":
    unittest.main()
