# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a program with and without a kept proof: kept_proofs.py MODEL DIR."""

import json
import os
import shutil
import subprocess
import sys
import time

model, folder = sys.argv[1:]
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
program = os.path.join(folder, "p.ash")
home = os.path.join(folder, "cache")
proofs = os.path.join(home, "ashlar", "proofs")
runs = 0


def run(*options, path=program, cache=home):
    """(outputs, report without times, what was said) of a run."""
    global runs
    runs += 1
    out, report = (os.path.join(folder, f"{runs}.{e}") for e in ("npz", "json"))
    result = subprocess.run(
        ["ashlar-run", path, "--random-inputs=1", f"--outputs={out}",
         f"--report={report}", *options], check=True, stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL, text=True,
        env=dict(os.environ, XDG_CACHE_HOME=cache))
    with open(report, encoding="utf-8") as stream:
        text = json.load(stream)
    for key in ("wall_seconds", "load_seconds"):
        text.pop(key)
    with open(out, "rb") as stream:
        return stream.read(), text, result.stderr


def files():
    return sorted(os.listdir(proofs)) if os.path.isdir(proofs) else []


def same(result, says=""):
    """The result is the first one's; `says` stands in what was said."""
    assert result[:2] == first[:2], "another result"
    assert (says in result[2]) if says else "note" not in result[2], result[2]


def damage(path, change):
    with open(path, "r+b") as stream:
        content = bytearray(stream.read())
        change(content)
        stream.seek(0)
        stream.truncate()
        stream.write(content)


def flip(at):
    def change(content):
        content[at] ^= 1
    return change


subprocess.run(["ashlarc", model, "-o", program], check=True,
               stdout=subprocess.DEVNULL)
time.sleep(2.1)  # Then its state stands for it, from the first proof on.
first = run("--no-cache")
assert files() == [], "--no-cache keeps a proof"
same(run())
kept = files()
assert len(kept) == 1, kept
path = os.path.join(proofs, kept[0])
assert os.stat(path).st_mode & 0o77 == 0 and os.stat(proofs).st_mode & 0o77 == 0
same(run())  # found
same(run("--threads=1", "--kernels=scalar"))
assert run("--functional")[0] == first[0]

# Damaged anywhere or too short: proved again, and replaced; lists of instructions come
# with the second run.
whole = open(path, "rb").read()
for change in (flip(0), flip(40), flip(70), flip(len(whole) // 2), flip(-1),
               lambda c: c.__delitem__(slice(50, None)), lambda c: c.clear()):
    damage(path, change)
    same(run(), "is damaged: the program is proved again")
    same(run())
    assert open(path, "rb").read() == whole
same(run())

# The proof of another program under this one's name says nothing.
other = os.path.join(folder, "other.ash")
subprocess.run(["ashlarc", model, "-o", other, "--machine=a1-ideal"],
               check=True, stdout=subprocess.DEVNULL)
run(path=other)
names = [n for n in files() if n != kept[0]]
assert len(names) == 1, names
shutil.copyfile(os.path.join(proofs, names[0]), path)
same(run())
same(run())
assert open(path, "rb").read() == whole, "a foreign proof stays"

# A run without cycles keeps no account; the next one adds it.
os.remove(path)
assert run("--functional")[0] == first[0]
assert os.path.getsize(path) < len(whole)
same(run())
assert open(path, "rb").read() == whole
same(run("--threads=1"))

# Others might have written it.
os.chmod(path, 0o666)
same(run(), "nobody else may write to")
os.chmod(path, 0o600)
os.chmod(proofs, 0o777)
same(run(), "nobody else may write to")
os.chmod(proofs, 0o700)
os.remove(path)
os.mkdir(path)
same(run(), "is ignored")
os.rmdir(path)

# No room for a folder, or for the file.
blocked = os.path.join(folder, "blocked")
open(blocked, "w", encoding="utf-8").close()
same(run(cache=blocked), "no proof is kept in")
assert "note" not in run("--quiet", cache=blocked)[2]
full = subprocess.run(
    ["bash", "-c", f"ulimit -f 8; exec ashlar-run {program} --random-inputs=1"],
    stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
    env=dict(os.environ, XDG_CACHE_HOME=os.path.join(folder, "full")))
assert full.returncode == 0 and "proof is not kept" in full.stderr, full

# A folder holds a limited number of files.
for i in range(300):
    with open(os.path.join(proofs, f"{i:016x}.proof"), "wb"):
        pass
    os.utime(os.path.join(proofs, f"{i:016x}.proof"), (i, i))
same(run())
assert len(files()) == 256 and kept[0] in files(), len(files())
