#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command under a Slurm of one node that lives in a folder.

usage: slurm_node.py FOLDER|--temporary --probe | FOLDER|--temporary COMMAND...

Starts munged, slurmctld and slurmd with sockets, keys and state in FOLDER, waits
until the node is idle, runs the command with SLURM_CONF set, and stops them.
--probe starts and stops only; what does not start is said, with exit code 77.
"""

import getpass
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "sinfo")
PATIENCE = 20  # seconds for a daemon to answer

CONFIGURATION = """ClusterName=ashlar
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
KillWait=2
MinJobAge=30
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=10 State=UP
"""


class NotStarted(Exception):
    """Why there is no Slurm."""


def search_path():
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


def find(name):
    path = shutil.which(name, path=search_path())
    if not path:
        raise NotStarted(f"{name} is not installed (Debian: slurm-wlm)")
    return path


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for entry in sockets:
        entry.bind(("127.0.0.1", 0))
    ports = [entry.getsockname()[1] for entry in sockets]
    for entry in sockets:
        entry.close()
    return ports


class Node:
    """The three daemons; each is a child of ours and is ended by its number."""

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        self.daemons = []

    def start_daemon(self, name, *arguments):
        log = open(os.path.join(self.folder, f"{name}.out"), "wb")
        self.daemons.append((name, subprocess.Popen(
            [find(name), *arguments], stdin=subprocess.DEVNULL, stdout=log,
            stderr=subprocess.STDOUT, env=self.environment())))

    def environment(self):
        return dict(os.environ, PATH=search_path(),
                    SLURM_CONF=os.path.join(self.folder, "slurm.conf"))

    def wait_for(self, what, ready):
        limit = time.monotonic() + PATIENCE
        while not ready():
            for name, process in self.daemons:
                if process.poll() is not None:
                    raise NotStarted(f"{name} ended: {self.last_words(name)}")
            if time.monotonic() > limit:
                raise NotStarted(f"no {what} after {PATIENCE} s: "
                                 f"{self.last_words(self.daemons[-1][0])}")
            time.sleep(0.1)

    def last_words(self, name):
        lines = []
        for suffix in ("out", "log"):
            path = os.path.join(self.folder, f"{name}.{suffix}")
            if os.path.exists(path):
                with open(path, encoding="utf-8", errors="replace") as stream:
                    lines += [line for line in stream if line.strip()]
        return lines[-1].strip() if lines else "nothing said"

    def start(self):
        for name in NEEDED:
            find(name)
        os.makedirs(self.folder, exist_ok=True)
        # munged refuses folders that others may write.
        os.chmod(self.folder, 0o755)
        for name in ("state", "spool"):
            os.makedirs(os.path.join(self.folder, name), exist_ok=True)
        key = os.path.join(self.folder, "munge.key")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o400), "wb") as out:
            out.write(os.urandom(1024))
        host = socket.gethostname().split(".")[0]
        with open(os.path.join(self.folder, "slurm.conf"), "w", encoding="utf-8") as out:
            out.write(CONFIGURATION.format(host=host, folder=self.folder,
                                           user=getpass.getuser(), ports=free_ports(2),
                                           cpus=os.cpu_count()))
        with open(os.path.join(self.folder, "cgroup.conf"), "w", encoding="utf-8") as out:
            out.write("CgroupAutomount=no\n")
        munge = os.path.join(self.folder, "munge.socket")
        self.start_daemon(
            "munged", "--foreground", "--force", f"--key-file={key}", f"--socket={munge}",
            f"--pid-file={self.folder}/munged.pid", f"--log-file={self.folder}/munged.log",
            f"--seed-file={self.folder}/munged.seed", "--num-threads=1")
        self.wait_for("socket of munged", lambda: os.path.exists(munge))
        self.start_daemon("slurmctld", "-D")
        self.wait_for("answer of slurmctld", lambda: self.states() is not None)
        self.start_daemon("slurmd", "-D", "-N", host)
        self.wait_for("idle node", lambda: self.states() == "idle")

    def states(self):
        done = subprocess.run([find("sinfo"), "--noheader", "--format=%T"], text=True,
                              capture_output=True, env=self.environment())
        return done.stdout.strip() if done.returncode == 0 else None

    def stop(self):
        for _, process in reversed(self.daemons):
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    if sys.argv[1] != "--temporary":
        return serve(Node(sys.argv[1]))
    # Sockets have names of at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder:
        return serve(Node(folder))


def serve(node):
    """Starts the node for the command of the command line; its exit code."""
    try:
        node.start()
        if sys.argv[2] == "--probe":
            return 0
        return subprocess.run(sys.argv[2:], env=node.environment()).returncode
    except NotStarted as reason:
        print(f"Slurm does not start here: {reason}")
        return 77
    finally:
        node.stop()


if __name__ == "__main__":
    sys.exit(main())
