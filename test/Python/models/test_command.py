# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command `tools/models fetch` against a server on the loopback: whole downloads, killed ones,
proxies, no network."""

import contextlib
import hashlib
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from ashlar.campaign import progress
from ashlar.models import cli
from server import Server

DATA = random.Random(2).randbytes(900_000)
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


def nobody():
    """A port that refuses connections."""
    with Server(b"") as server:
        return server.server_address[1]


class CommandTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        # Whatever proxy the host has is not for these servers.
        plain = {key: value for key, value in os.environ.items() if key.lower() not in PROXIES}
        # urllib remembers the proxies of its first request.
        for change in (mock.patch.dict(os.environ, plain, clear=True),
                       mock.patch("urllib.request._opener", None)):
            change.start()
            self.addCleanup(change.stop)

    def table(self, *addresses, data=DATA):
        row = {"name": "m", "file": "m.onnx", "what": "a model", "bytes": len(DATA),
               "sha256": hashlib.sha256(data).hexdigest(), "licence": "MIT", "addresses": addresses}
        path = self.folder / "table.json"
        path.write_text(json.dumps({"models": [row]}))
        return [f"--table={path}", "-o", str(self.folder / "out")]

    def fetch(self, *addresses, data=DATA, code=0, err=None):
        """What the command prints, and its errors."""
        out, err = io.StringIO(), err or io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), \
                mock.patch("ashlar.models.fetch.time.sleep"):
            self.assertEqual(cli.main(["fetch", *self.table(*addresses, data=data)]), code, err.getvalue())
        return out.getvalue(), err.getvalue()

    def whole(self):
        self.assertEqual((self.folder / "out" / "m.onnx").read_bytes(), DATA)
        self.assertEqual(os.listdir(self.folder / "out"), ["m.onnx"])

    def test_fetches_once(self):
        with Server(DATA) as server:
            self.assertIn("m.onnx: fetched, hash as published", self.fetch(server.address)[0])
            self.assertIn("m.onnx: is there", self.fetch(server.address)[0])
            self.assertEqual(len(server.asked), 1)
        self.whole()

    def test_a_killed_download_resumes(self):
        partial = self.folder / "out" / ".m.onnx.partial"
        with Server(DATA, stalls=600_000) as server:
            command = subprocess.Popen([sys.executable, "-m", "ashlar.models", "fetch",
                                        *self.table(server.address)], stderr=subprocess.DEVNULL)
            end = time.monotonic() + 20
            while not (partial.exists() and partial.stat().st_size) and time.monotonic() < end:
                time.sleep(0.01)
            command.kill()
            command.wait()
        arrived = partial.stat().st_size
        self.assertTrue(0 < arrived <= 600_000)
        with Server(DATA) as server:
            self.fetch(server.address)
            self.assertEqual(server.asked, [f"bytes={arrived}-"])
        self.whole()

    def test_another_file_than_published(self):
        with Server(DATA[::-1]) as server:
            _, said = self.fetch(server.address, code=6)
        self.assertIn(f"models: error: m: what {server.address} sends is not the published file", said)
        self.assertIn(hashlib.sha256(DATA).hexdigest(), said)
        self.assertEqual(os.listdir(self.folder / "out"), [])

    def test_another_size_than_published(self):
        with Server(DATA[:-1]) as server:
            _, said = self.fetch(server.address, data=DATA[:-1], code=6)
        self.assertIn("899999 bytes", said)
        self.assertIn("expected 900000 bytes", said)

    def test_no_network(self):
        port = nobody()
        _, said = self.fetch(f"http://127.0.0.1:{port}/m", f"http://127.0.0.1:{port}/n", code=4)
        for part in ("models: error: m: no address can be reached", "/m: ", "/n: ", "Connection refused",
                     "tools/models draw --list", "or put the file at", hashlib.sha256(DATA).hexdigest()):
            self.assertIn(part, said)

    def test_through_a_proxy(self):
        with Server(DATA) as proxy:
            os.environ["http_proxy"] = f"http://127.0.0.1:{proxy.server_address[1]}"
            self.fetch("http://models.invalid/m.onnx")
            self.assertEqual(proxy.paths, ["http://models.invalid/m.onnx"])
        self.whole()

    def test_proxy_that_wants_a_password(self):
        with Server(DATA, codes=[407]) as proxy:
            os.environ["http_proxy"] = f"http://me:secret@127.0.0.1:{proxy.server_address[1]}"
            _, said = self.fetch("http://models.invalid/m.onnx", code=4)
        self.assertRegex(said, r"through the proxy 127\.0\.0\.1:\d+ \(http_proxy\): HTTP 407")
        self.assertNotIn("secret", said)

    def test_proxy_that_is_not_there(self):
        os.environ["https_proxy"] = f"http://127.0.0.1:{nobody()}"
        _, said = self.fetch("https://models.invalid/m.onnx", code=4)
        self.assertRegex(said, r"through the proxy 127\.0\.0\.1:\d+ \(https_proxy\): .*Connection refused")

    def test_proxy_that_makes_no_tunnel(self):
        with Server(DATA) as proxy:
            os.environ["https_proxy"] = f"http://127.0.0.1:{proxy.server_address[1]}"
            _, said = self.fetch("https://models.invalid/m.onnx", code=4)
        self.assertNotIn("what arrived", said)
        self.assertRegex(said, r"\(https_proxy\): Tunnel connection failed: 501")

    def test_progress_on_a_terminal(self):
        class Terminal(io.StringIO):
            def isatty(self):
                return True

        with Server(DATA) as server:
            _, said = self.fetch(server.address, err=Terminal())
        self.assertIn("m: 0.9 of 0.9 MB, 100 %", said)
        self.assertTrue(said.endswith("\r\033[K"))

    def test_time_left_of_a_resumed_download(self):
        line = cli.Download("m", False)
        self.assertEqual(line.line(5_000_000, 9_000_000, 1), "m: 5.0 of 9.0 MB, 55 %")
        self.assertEqual(line.line(6_000_000, 9_000_000, 2), "m: 6.0 of 9.0 MB, 66 %, 6 s left")
        self.assertEqual(progress.time_left(1, 2, 2), "")


if __name__ == "__main__":
    unittest.main()
