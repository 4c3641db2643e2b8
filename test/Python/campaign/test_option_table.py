# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Command lines: spellings, files of arguments, what is refused and what is suggested."""

import os
import tempfile
import unittest

from ashlar.campaign.errors import Failure
from ashlar.campaign.option_table import Option, OptionTable, Positional
from ashlar.campaign.spelling import did_you_mean, distance


def table(many=False):
    made = OptionTable()
    made.options += [Option("o", "FILE", "output", key="output"), Option("jobs", "N", "jobs", number=True),
                     Option("mode", "NAME", "how:", values=("fast", "slow"), default="fast"),
                     Option("name", "TEXT", "names", repeats=True), Option("quiet", "", "says less")]
    made.positionals.append(Positional("subject"))
    if many:
        made.positionals.append(Positional("rest", many=True))
    return made


class OptionTableTest(unittest.TestCase):
    def refused(self, words, *arguments):
        with self.assertRaises(Failure) as caught:
            table().parse(arguments)
        self.assertEqual(str(caught.exception), words)
        self.assertEqual(caught.exception.code, 2)

    def test_spellings(self):
        for line in ("-o x --jobs=2 --mode=slow --quiet f", "--o=x -jobs 2 -mode=slow -quiet f",
                     "f -o=x --jobs 2 --mode slow --quiet", "-o x -jobs=2 -mode slow -quiet -- f"):
            found = table().parse(line.split())
            self.assertEqual((found.output, found.jobs, found.mode, found.quiet, found.subject),
                             ("x", 2, "slow", True, "f"), line)

    def test_defaults(self):
        found = table().parse([])
        self.assertEqual((found.output, found.jobs, found.mode, found.quiet, found.name, found.subject),
                         (None, None, "fast", False, [], None))

    def test_values_that_look_like_options(self):
        found = table().parse(["--name", "--quiet", "--name=-", "-", "-o", "--"])
        self.assertEqual((found.name, found.subject, found.output, found.quiet), (["--quiet", "-"], "-", "--", False))

    def test_the_last_value_counts(self):
        self.assertEqual(table().parse(["--jobs=2", "--jobs=3"]).jobs, 3)

    def test_many(self):
        found = table(many=True).parse(["a", "b", "c"])
        self.assertEqual((found.subject, found.rest), ("a", ["b", "c"]))

    def test_refusals(self):
        self.refused("option --quiet takes no value, found '1'", "--quiet=1")
        self.refused("option --jobs lacks its value N", "--jobs")
        self.refused("option -o lacks its value FILE", "-o")
        self.refused("option --jobs is '0', expected a whole number of at least 1", "--jobs=0")
        self.refused("option --jobs is '\u0662', expected a whole number of at least 1", "--jobs=\u0662")
        self.refused("option --mode is 'slw', expected fast or slow, did you mean 'slow'", "--mode=slw")
        self.refused("option --name is '', expected a value", "--name=")
        self.refused("unknown option '--nane=x', see --help, did you mean '--name'", "--nane=x")
        self.refused("unknown option '--zzz', see --help", "--zzz")
        self.refused("unknown option '---jobs', see --help, did you mean '--jobs'", "---jobs")
        self.refused("unknown option '-ox', see --help", "-ox")
        self.refused("unexpected argument 'b', see --help", "a", "b")

    def test_files_of_arguments(self):
        with tempfile.TemporaryDirectory() as folder:
            inner, outer = os.path.join(folder, "inner"), os.path.join(folder, "outer")
            with open(inner, "w", encoding="utf-8") as file:
                file.write("--name 'two words'\n--mode=slow")
            with open(outer, "w", encoding="utf-8") as file:
                file.write(f"--jobs=4 @{inner}\n")
            found = table().parse(["f", "@" + outer, "--mode=fast", "@" + inner])
            self.assertEqual((found.jobs, found.name, found.mode), (4, ["two words"] * 2, "slow"))
            with open(inner, "wb") as file:
                file.write(b"\xff\xfe")
            with self.assertRaisesRegex(Failure, "cannot take arguments from"):
                table().parse(["@" + inner])

    def test_help_fits_a_terminal(self):
        text = table().describe()
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.assertIn("  --mode=NAME                      how: fast (default) or slow\n", text)


class SpellingTest(unittest.TestCase):
    def test_distance(self):
        for a, b, edits in (("", "", 0), ("", "ab", 2), ("kitten", "sitting", 3), ("abc", "acb", 2), ("x", "x", 0)):
            self.assertEqual(distance(a, b), edits, (a, b))
            self.assertEqual(distance(b, a), edits, (b, a))

    def test_names(self):
        self.assertEqual(did_you_mean("imagnet", ["imagenet", "cifar"]), ", did you mean 'imagenet'")
        self.assertEqual(did_you_mean("zz", ["imagenet", "cifar"]), "")
        self.assertEqual(did_you_mean("ab", ["aa"]), "")


if __name__ == "__main__":
    unittest.main()
