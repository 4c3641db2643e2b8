# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists the DT_NEEDED entries of a little-endian ELF64 file.

usage: needed.py FILE
"""

import struct
import sys


def entries(data):
    """(tag, value) of the dynamic segment, and its file offset mapping."""
    offset, size, count = (struct.unpack_from("<Q", data, 32)[0],
                           *struct.unpack_from("<HH", data, 54))
    loads, dynamic = [], []
    for i in range(count):
        kind, _, at, address, _, length = struct.unpack_from(
            "<IIQQQQ", data, offset + i * size)
        if kind == 1:
            loads.append((address, at, length))
        elif kind == 2:
            dynamic = list(struct.iter_unpack("<qQ", data[at:at + length]))
    return dynamic, loads


def main(path):
    with open(path, "rb") as stream:
        data = stream.read()
    assert data[:5] == b"\x7fELF\x02", "not an ELF64 file"
    dynamic, loads = entries(data)
    strings = dict(dynamic)[5]
    base = next(at + strings - address for address, at, length in loads
                if address <= strings < address + length)
    for tag, value in dynamic:
        if tag == 1:
            end = data.index(b"\0", base + value)
            print(data[base + value:end].decode())


if __name__ == "__main__":
    main(sys.argv[1])
