# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of one code and different constants: proof_source.py DIR."""

import os
import shutil
import subprocess
import sys
import time

folder = sys.argv[1]
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
home = os.path.join(folder, "cache")
NONE = bytes(32)
# A state counts if the file is older than its clock is coarse, in seconds.
OLD = 2.1


def assemble(name, values):
    """A program long enough to be kept that copies two floats."""
    copy = ("dma.copy elemBytes=4 srcMem=dram dstMem=sb n4=2 srcStride4=4 "
            "dstStride4=4\n")
    text = os.path.join(folder, name + ".s")
    with open(text, "w", encoding="utf-8") as stream:
        stream.write(
            f".machine name=a1-tiny\n.f32 at=0 values={values}\n"
            ".output name=y type=f32 shape=[2] at=64\n" + copy * 4200 +
            copy.replace("srcMem=dram dstMem=sb",
                         "srcMem=sb dstMem=dram dstBase=64"))
    program = os.path.join(folder, name + ".ash")
    subprocess.run(["ashlar-as", text, "-o", program], check=True)
    return program


def run(path, expected, *options):
    """Digests of program and source that the kept proof names after a run."""
    said = subprocess.run(["ashlar-run", path, *options], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, XDG_CACHE_HOME=home)).stdout
    assert expected in said and "note" not in said, said
    proofs = os.path.join(home, "ashlar", "proofs")
    (name,) = os.listdir(proofs)
    with open(os.path.join(proofs, name), "rb") as stream:
        content = stream.read()
    return content[32:64], content[64:96]


FIRST, SECOND = "[1]=2 [0]=1", "[1]=4 [0]=3"
first, second = assemble("first", [1, 2]), assemble("second", [3, 4])
whole, source = run(first, FIRST)
assert whole != NONE and source == NONE, "a file as new as its state"
time.sleep(OLD)
known, source = run(first, FIRST)
assert known == whole and source != NONE, "a state that nothing hides behind"
assert run(first, FIRST) == (whole, source)
assert run(first, FIRST, "--threads=1") == (whole, source)
assert run(first, FIRST, "--functional") == (whole, source)

# The other program's bytes in the same file, of the same time: another proof.
status = os.stat(first)
with open(second, "rb") as stream:
    content = stream.read()
assert len(content) == status.st_size
with open(first, "r+b") as stream:
    stream.write(content)
os.utime(first, ns=(status.st_atime_ns, status.st_mtime_ns))
assert os.stat(first).st_mtime_ns == status.st_mtime_ns
changed, none = run(first, SECOND)
assert changed not in (whole, NONE) and none == NONE

# Another file with the same bytes has the same proof and a state of its own.
time.sleep(OLD)
assert run(second, SECOND)[0] == changed
states = {run(path, SECOND)[1] for path in (first, second, first)}
assert len(states) == 2 and NONE not in states

# Others may write to it without a trace in time: its state says nothing.
os.remove(os.path.join(home, "ashlar", "proofs",
                       os.listdir(os.path.join(home, "ashlar", "proofs"))[0]))
os.chmod(second, 0o666)
time.sleep(OLD)
assert run(second, SECOND) == (changed, NONE)
