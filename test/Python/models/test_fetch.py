# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Downloads from a server on the loopback that breaks off, lies or is not there."""

import fcntl
import hashlib
import json
import random
import socket
import tempfile
import unittest
from pathlib import Path

from ashlar.campaign.errors import Failure
from ashlar.models.fetch import TRUSTED, fetch
from ashlar.models.table import Model, read_table
from server import Server

DATA = random.Random(1).randbytes(700_000)
SHA = hashlib.sha256(DATA).hexdigest()


def nobody():
    """An address that refuses connections."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/model.onnx"


class FetchTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = Path(self.scratch.name)
        self.target = self.folder / "sub" / "m.onnx"
        self.partial = self.folder / "sub" / ".m.onnx.partial"

    def tearDown(self):
        self.scratch.cleanup()

    def get(self, *addresses, size=len(DATA), sha=SHA):
        model = Model("m", "sub/m.onnx", "a model", size, sha, "MIT", addresses)
        return fetch(model, self.folder, lambda done, total: None, wait=0)

    def fails(self, code, text, *addresses, **keywords):
        with self.assertRaises(Failure) as caught:
            self.get(*addresses, **keywords)
        self.assertEqual(int(caught.exception.code), code, str(caught.exception))
        self.assertIn(text, str(caught.exception))
        self.assertFalse(self.target.exists())

    def whole(self):
        self.assertEqual(self.target.read_bytes(), DATA)
        self.assertEqual(list(self.target.parent.iterdir()), [self.target])

    def test_whole_and_then_there(self):
        with Server(DATA) as server:
            self.assertIn("hash as published", self.get(server.address))
            self.whole()
            self.assertEqual(self.get(server.address), "is there")
            self.assertEqual(server.asked, [None])

    def test_resumes_within_a_call(self):
        with Server(DATA, breaks=[300_000, 1000]) as server:
            self.get(server.address)
            self.assertEqual(server.asked, [None, "bytes=300000-", "bytes=301000-"])
        self.whole()

    def test_resumes_in_the_next_call(self):
        with Server(DATA, breaks=[200_000, 0, 0]) as server:
            self.fails(4, "what arrived is kept", server.address)
            self.assertEqual(self.partial.stat().st_size, 200_000)
            self.get(server.address)
            self.assertEqual(server.asked[-1], "bytes=200000-")
        self.whole()

    def test_server_without_ranges(self):
        with Server(DATA, breaks=[200_000], ranges=False) as server:
            self.get(server.address)
        self.whole()

    def test_server_that_says_no_length(self):
        with Server(DATA, lengths=False) as server:
            self.get(server.address)
        self.whole()

    def test_beginning_of_another_version(self):
        self.partial.parent.mkdir()
        for stale in (b"x" * 1000, b"x" * len(DATA), b"x" * (len(DATA) + 5)):
            self.partial.write_bytes(stale)
            with Server(DATA) as server:
                self.get(server.address)
            self.whole()
            self.target.unlink()

    def test_wrong_hash(self):
        with Server(DATA[:-1] + bytes([DATA[-1] ^ 1])) as server:
            self.fails(6, "is not the published file", server.address)
        self.assertFalse(self.partial.exists())

    def test_wrong_length(self):
        with Server(DATA + b"more") as server:
            self.fails(4, "sends more than the 700000 bytes", server.address)
        self.partial.unlink()
        with Server(DATA[:1000]) as server:
            self.fails(6, "1000 bytes", server.address)

    def test_other_file_in_the_way(self):
        self.target.parent.mkdir()
        self.target.write_bytes(b"mine")
        with self.assertRaisesRegex(Failure, "remove the file to fetch it again"):
            self.get(nobody())
        self.assertEqual(self.target.read_bytes(), b"mine")

    def test_nobody_there(self):
        self.fails(4, "Without a network, draw a network", nobody())
        self.assertFalse(self.partial.exists())

    def test_second_address(self):
        with Server(DATA) as good, Server(DATA, codes=[404]) as bad:
            self.get(nobody(), bad.address, good.address)
        self.whole()

    def test_not_found(self):
        with Server(DATA, codes=[404]) as server:
            self.fails(4, "no address has the file", server.address)
            self.assertEqual(len(server.asked), 1)

    def test_busy_server(self):
        with Server(DATA, codes=[503, 429]) as server:
            self.get(server.address)
        self.whole()

    def test_one_download_at_a_time(self):
        self.partial.parent.mkdir()
        with open(self.partial, "wb") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            self.fails(4, "another process downloads this file", nobody())

    def test_trust_on_first_use(self):
        with Server(DATA) as server:
            said = self.get(server.address, size=None, sha=None)
            self.assertIn("trusted from now on: " + SHA, said)
            self.assertEqual(json.loads((self.folder / TRUSTED).read_text()), {"sub/m.onnx": SHA})
            self.assertEqual(self.get(server.address, size=None, sha=None), "is there")
        self.target.unlink()
        with Server(DATA + b"!") as server:
            self.fails(6, "is not the published file", server.address, size=None, sha=None)


class TableTest(unittest.TestCase):
    def test_published(self):
        models = read_table()
        self.assertIn("resnet50-v1-12", [model.name for model in models])
        for model in models:
            self.assertTrue(model.addresses[0].startswith("https://"), model.name)

    def refused(self, text, words):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(text)
            file.flush()
            with self.assertRaisesRegex(Failure, words) as caught:
                read_table(file.name)
        self.assertEqual(int(caught.exception.code), 4)

    def test_malformed(self):
        row = {"name": "a", "file": "a.onnx", "what": "w", "bytes": 1, "sha256": None,
               "licence": "MIT", "addresses": ["https://localhost/a"]}

        def table(*rows):
            return json.dumps({"models": rows})

        self.refused("{", "Expecting")
        self.refused("[" * 100_000, "")
        self.refused("[]", "the list 'models'")
        self.refused(table({}), "expected the keys")
        self.refused(table({**row, "file": "../a"}), "below the folder")
        self.refused(table({**row, "file": "/a"}), "below the folder")
        self.refused(table({**row, "sha256": "12"}), "64 hexadecimal digits")
        self.refused(table({**row, "bytes": True}), "positive number")
        self.refused(table({**row, "addresses": ["file:///etc/passwd"]}), "http or https")
        self.refused(table(row, row), "two models have the name 'a'")


if __name__ == "__main__":
    unittest.main()
