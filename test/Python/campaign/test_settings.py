# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""YAML of settings, progress, and the command line."""

import io
import tempfile
import unittest
from pathlib import Path

from ashlar.campaign.errors import Failure
from ashlar.campaign.progress import Progress, duration
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
    def test_quiet_when_piped(self):
        out = io.StringIO()
        with Progress("sweep", 2, stream=out) as progress:
            progress.step("a")
        self.assertEqual(out.getvalue(), "")

    def test_on_a_terminal(self):
        out = Terminal()
        with Progress("sweep", 4, stream=out) as progress:
            progress.step("glyphs on a1")
            self.assertIn("sweep 1/4 (25%)", out.getvalue())
            self.assertIn("left  glyphs on a1", out.getvalue())
        self.assertTrue(out.getvalue().endswith("\r\x1b[K"))

    def test_quiet_option(self):
        out = Terminal()
        with Progress("sweep", 4, quiet=True, stream=out) as progress:
            progress.step("x")
        self.assertEqual(out.getvalue(), "")

    def test_durations(self):
        self.assertEqual([duration(s) for s in (0.2, 59, 61, 7260)], ["0 s", "59 s", "1:01 min", "2:01 h"])


if __name__ == "__main__":
    unittest.main()
