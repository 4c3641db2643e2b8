# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A server of one file on the loopback that behaves badly on request."""

import http.server
import re
import threading


STALL = 30  # seconds; longer than any test looks


class Server(http.server.ThreadingHTTPServer):
    """Serves `data` under every path. `breaks`: bytes after which the next answers break
    off, one for each; `stalls`: bytes after which it sends nothing more; `ranges`: whether it knows them; `codes`: what the next answers are;
    `lengths`: whether it says how much comes."""

    daemon_threads = True

    def __init__(self, data, breaks=(), ranges=True, codes=(), lengths=True, stalls=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.data, self.breaks, self.ranges = data, list(breaks), ranges
        self.codes, self.lengths, self.stalls = list(codes), lengths, stalls
        self.asked, self.paths, self.left = [], [], threading.Event()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}/model.onnx"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01},
                         daemon=True).start()
        return self

    def __exit__(self, *unused):
        self.left.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        """A client that leaves is what the tests want."""


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, format, *arguments):
        pass

    def do_GET(self):
        server, wanted = self.server, self.headers.get("Range")
        server.asked.append(wanted)
        server.paths.append(self.path)
        code = server.codes.pop(0) if server.codes else 200
        if code != 200:
            self.send_error(code)
            return
        start = int(re.match(r"bytes=(\d+)-", wanted)[1]) if wanted and server.ranges else 0
        if start and start >= len(server.data):
            self.send_error(416)
            return
        body = server.data[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(server.data) - 1}/{len(server.data)}")
        if server.lengths:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if server.stalls is not None:
            self.wfile.write(body[:server.stalls])
            server.left.wait(STALL)
            return
        self.wfile.write(body[:server.breaks.pop(0)] if server.breaks else body)
