# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Digests of the tools, and descriptions of machines."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

import yaml

from ashlar.campaign import files, machines, toolbox
from ashlar.campaign.errors import Failure


class Digests(unittest.TestCase):
    def test_read_once_and_again_after_a_change(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for tool in toolbox.NAMES:
                (folder / tool).write_bytes(b"one")
            tools = toolbox.Toolbox(folder)
            with mock.patch.object(files, "_read_digest", wraps=files._read_digest) as read:
                first = tools.digests()
                self.assertEqual(tools.digests(), first)
                self.assertEqual(read.call_count, len(toolbox.NAMES))
                # Another content under the same name, as a new build writes it.
                (folder / "new").write_bytes(b"two")
                (folder / "new").rename(folder / toolbox.NAMES[0])
                second = tools.digests()
            self.assertNotEqual(second[toolbox.NAMES[0]], first[toolbox.NAMES[0]])
            self.assertEqual(second[toolbox.NAMES[1]], first[toolbox.NAMES[1]])

    def test_absent(self):
        with self.assertRaisesRegex(Failure, "ashlarc: No such file"):
            toolbox.Toolbox(Path("/absent")).digests()


class Descriptions(unittest.TestCase):
    def test_same_bytes_without_libyaml(self):
        """Results of hosts with and without libyaml belong together."""
        parameters = {"pe.rows": 64, "pe.columns": 1 << 40, "dram.model": "banked", "sparse.bind": "true",
                      "clock_hz": "1e9", "a": "it's: é", "b.c": True, "b.d": "", "b.e": "long " * 60}
        given = machines.description("a1 pe.rows=64", parameters)
        with mock.patch.object(machines, "_DUMPER", yaml.SafeDumper):
            self.assertEqual(machines.description("a1 pe.rows=64", parameters), given)
        self.assertEqual(yaml.load(given, Loader=machines._LOADER), yaml.safe_load(given))


if __name__ == "__main__":
    unittest.main()
