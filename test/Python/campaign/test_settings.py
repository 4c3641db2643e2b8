# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""YAML of settings, progress, and the command line."""

import io
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from ashlar.campaign import progress
from ashlar.campaign.errors import Failure
from ashlar.campaign.progress import Progress, duration, time_left
from ashlar.campaign.settings import check_keys, read_yaml


class Yaml(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "x.yaml")
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            return read_yaml(path)

    def test_words_of_options_stay_words(self):
        self.assertEqual(self.read("a: [off, on, no, y, true, false, 2026-11-22]"),
                         {"a": ["off", "on", "no", "y", True, False, "2026-11-22"]})

    def test_refused(self):
        for text in ("a: 1\na: 2", "[1]", "a: [", "1: 2", b"a: \xff", "", "a: !!python/object:os.system x",
                     "a: " + "[" * 5000):
            with self.assertRaises(Failure, msg=text[:20]) as caught:
                self.read(text)
            self.assertEqual(caught.exception.code, 4)

    def test_nearest_key(self):
        with self.assertRaisesRegex(Failure, "unknown key 'resise', did you mean 'resize'"):
            check_keys("r.yaml", {"resise": 1}, ("resize", "crop"))


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Lines(unittest.TestCase):
    def setUp(self):
        patience = mock.patch.object(progress, "PATIENCE", 0.0)
        period = mock.patch.object(progress, "PERIOD", 0.005)
        for change in (patience, period):
            change.start()
            self.addCleanup(change.stop)

    def shown(self, out, text):
        """Whether the line says `text` before long."""
        end = time.monotonic() + 10
        while text not in out.getvalue() and time.monotonic() < end:
            time.sleep(0.005)
        self.assertIn(text, out.getvalue())

    def test_quiet_when_piped(self):
        out = io.StringIO()
        with Progress("sweep", 2, stream=out) as line:
            line.step("a")
            self.assertIsNone(line.watcher)
        self.assertEqual(out.getvalue(), "")

    def test_on_a_terminal(self):
        out = Terminal()
        with Progress("sweep", 4, stream=out) as line:
            self.shown(out, "sweep 0/4, 0 %")
            line.start -= 100
            line.step("glyphs on a1")
            self.shown(out, "sweep 1/4, 25 %, 5:00 min left  glyphs on a1")
        self.assertTrue(out.getvalue().endswith("\r\x1b[K"))

    def test_short_work_has_no_line(self):
        out = Terminal()
        progress.PATIENCE = 60.0
        with Progress("sweep", 1, stream=out) as line:
            line.step("a")
        self.assertEqual(out.getvalue(), "")

    def test_quiet_option(self):
        out = Terminal()
        with Progress("sweep", 4, quiet=True, stream=out) as line:
            line.step("x")
            self.assertIsNone(line.watcher)
        self.assertEqual(out.getvalue(), "")

    def test_time_left_runs_down_within_a_step(self):
        self.assertEqual([time_left(0.2, 2, now) for now in (2, 7, 12)], [", 8 s left", ", 3 s left", ""])
        self.assertEqual([time_left(share, 5, 5) for share in (0, 1)], ["", ""])

    def test_durations(self):
        self.assertEqual([duration(s) for s in (0.2, 59, 61, 7260)], ["0 s", "59 s", "1:01 min", "2:01 h"])


if __name__ == "__main__":
    unittest.main()
