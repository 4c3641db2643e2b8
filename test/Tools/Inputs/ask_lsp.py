#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Opens a file in ashlar-lsp-server and prints the diagnostics it sends.

usage: ask_lsp.py FILE.mlir
"""

import json
import re
import subprocess
import sys


def message(**content):
    body = json.dumps(dict(content, jsonrpc="2.0")).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    document = {"uri": "file:///network.mlir", "languageId": "mlir",
                "version": 1, "text": text}
    session = b"".join([
        message(id=0, method="initialize",
                params={"processId": 1, "rootUri": "", "capabilities": {}}),
        message(method="textDocument/didOpen", params={"textDocument": document}),
        message(id=1, method="shutdown"), message(method="exit")])
    done = subprocess.run(["ashlar-lsp-server"], input=session, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for body in re.split(rb"Content-Length: \d+\r\n\r\n", done.stdout)[1:]:
        answer = json.loads(body)
        if answer.get("method") == "textDocument/publishDiagnostics":
            found = answer["params"]["diagnostics"]
            print(len(found), "diagnostics")
            for one in found:
                print(one["range"]["start"]["line"], one["message"])
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
