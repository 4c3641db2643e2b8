# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which shard a process computes."""

import unittest

from ashlar.campaign.errors import Failure
from ashlar.campaign.shard import find_shard, parse_shard


def array(task, count, first=0, step=1, last=None):
    return {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_COUNT": str(count),
            "SLURM_ARRAY_TASK_MIN": str(first), "SLURM_ARRAY_TASK_STEP": str(step),
            "SLURM_ARRAY_TASK_MAX": str(first + (count - 1) * step if last is None else last)}


class Shards(unittest.TestCase):
    def check(self, environment, index, count):
        shard = find_shard(None, environment)
        self.assertEqual((shard.index, shard.count), (index, count))

    def test_every_point_has_one_shard(self):
        for count in (1, 3, 7):
            shards = [parse_shard(f"{k}/{count}") for k in range(count)]
            for point in range(20):
                self.assertEqual(sum(shard.takes(point) for shard in shards), 1)

    def test_option_overrules(self):
        shard = find_shard("2/5", array(1, 3))
        self.assertEqual((shard.index, shard.count), (2, 5))

    def test_wrong_options(self):
        for text in ("3/3", "1", "-1/2", "a/b", "0/0", "1/2/3", ""):
            with self.assertRaises(Failure, msg=text) as caught:
                parse_shard(text)
            self.assertEqual(caught.exception.code, 2)

    def test_nothing_said(self):
        self.check({}, 0, 1)

    def test_slurm_arrays(self):
        self.check(array(2, 4), 2, 4)
        self.check(array(11, 4, first=10), 1, 4)
        self.check(array(16, 4, first=10, step=3), 2, 4)
        self.check(array(5, 1, first=5), 0, 1)

    def test_listed_arrays_are_refused(self):
        with self.assertRaisesRegex(Failure, "--shard=k/n"):
            find_shard(None, array(7, 3, first=3, last=12))

    def test_steps(self):
        self.check({"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "4"}, 1, 4)
        # A batch script has these as well, and is one process.
        self.check({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, 0, 1)
        self.check({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "3"}, 2, 3)
        self.check({"PMI_RANK": "0", "PMI_SIZE": "2"}, 0, 2)

    def test_array_of_steps(self):
        found = set()
        for task in range(3):
            for rank in range(2):
                shard = find_shard(None, {**array(task, 3), "SLURM_PROCID": str(rank),
                                          "SLURM_STEP_NUM_TASKS": "2"})
                self.assertEqual(shard.count, 6)
                found.add(shard.index)
        self.assertEqual(found, set(range(6)))

    def test_kubernetes(self):
        self.check({"JOB_COMPLETION_INDEX": "3", "JOB_COMPLETIONS": "8"}, 3, 8)
        with self.assertRaisesRegex(Failure, "JOB_COMPLETIONS"):
            find_shard(None, {"JOB_COMPLETION_INDEX": "3"})

    def test_nonsense_of_a_scheduler(self):
        for environment in ({"SLURM_PROCID": "x", "SLURM_STEP_NUM_TASKS": "2"},
                            {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "3"}):
            with self.assertRaises(Failure):
                find_shard(None, environment)


if __name__ == "__main__":
    unittest.main()
