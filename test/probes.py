# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What lit asks the host for, remembered in the build folder.

Some answers cost a second of processor time: apt is asked, daemons are started. They
stay the same until packages change or the host starts again.
"""

import json
import os
import tempfile
from collections.abc import Callable


def state_of_host() -> list:
    """What the answers depend on: the user, this start of the host, its packages."""
    found: list = [os.geteuid()]
    for path in ("/var/lib/dpkg/status", "/var/lib/apt/lists"):
        found.append(os.stat(path).st_mtime_ns if os.path.exists(path) else None)
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            found.append(file.read().strip())
    except OSError:
        found.append(None)
    return found


def remembered(folder: str, name: str, depends: list, probe: Callable[[], str]) -> str:
    """The answer of `probe`; asked again only if the host or `depends` changed."""
    path = os.path.join(folder, f"probe-{name}.json")
    key = [*state_of_host(), *depends]
    try:
        with open(path, encoding="utf-8") as file:
            stored = json.load(file)
        if stored["key"] == key and isinstance(stored["answer"], str):
            return stored["answer"]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    answer = probe()
    os.makedirs(folder, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
        json.dump({"key": key, "answer": answer}, file)
    os.replace(file.name, path)
    return answer
