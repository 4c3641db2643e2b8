# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs ashlar-run in ways that must fail and prints code and messages.

usage: fails.py FOLDER
"""

import os
import resource
import subprocess
import sys

folder = sys.argv[1]


def path(name):
    return os.path.join(folder, name)


def run(title, *arguments, **keywords):
    done = subprocess.run(["ashlar-run", *arguments], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **keywords)
    print(f"{title}\n  exit {done.returncode}\n{done.stdout}", flush=True)


program = path("p.ash")
x = "--input=x=" + path("x.npy")
run("no inputs", program)
run("wrong name", program, "--inputs=" + path("name.npz"))
run("wrong type", program, "--inputs=" + path("type.npz"))
run("wrong shape", program, "--inputs=" + path("shape.npz"))
run("unknown option", program, "--fast")
run("no program")
run("missing program", path("none.ash"))
with open(program, "rb") as stream:
    image = stream.read()
with open(path("cut.ash"), "wb") as stream:
    stream.write(image[:len(image) // 2])
run("truncated program", path("cut.ash"))
off = "--expect=" + path("off.npz")
run("mismatch", program, x, off, "--quiet", "--atol=0.1")
run("within tolerance", program, x, off, "--quiet", "--atol=0.25")
run("extra expected key", program, x, "--expect=" + path("extra.npz"))
run("missing expected key", program, x, "--expect=" + path("missing.npz"))
run("wrong expected shape", program, x, "--expect=" + path("flat.npz"),
    "--quiet")
run("little memory", program, x, "--max-memory=1K")
run("full disk", program, x, "--quiet", "--outputs=/dev/full")
run("bad archive", program, "--inputs=" + path("bad.npz"))
run("dump of a batch", program, "--inputs=" + path("batch.npz"),
    "--dump-tensors=" + path("d"))
run("unknown kernels", program, x, "--kernels=abacus")


def limit_file_size():
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))


os.mkdir(path("empty"))
run("limited file size", program, x, "--quiet",
    "--outputs=" + path("empty/out.npz"), preexec_fn=limit_file_size)
print("files left:", os.listdir(path("empty")))

# Standard output that cannot be written, and a reader that has left.
with open("/dev/full", "wb") as full:
    done = subprocess.run(["ashlar-run", program, x], stdout=full,
                          stderr=subprocess.PIPE, text=True, check=False)
print(f"full terminal\n  exit {done.returncode}\n{done.stderr}")
reading, writing = os.pipe()
os.close(reading)
done = subprocess.run(["ashlar-run", "--help"], stdout=writing, check=False)
print(f"closed pipe\n  exit {done.returncode}")
