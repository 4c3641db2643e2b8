#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The time of DRAM with banks, against a model that goes burst by burst.

usage: dram_banks.py [--seeds=0:20] [--seconds=N] [--keep=DIR] [--verbose]
       dram_banks.py network [--model=NAME] [OPTION ...]

A seed draws a DRAM (rates, bursts, rows, banks, times, refresh) and a program of
copies, fills, unpackings, gathers and compressed feature maps on several queues, or, every
tenth, a network of random_network.py. `network` takes a shared model and options of
ashlarc. The cycles that every transfer owns the server, the rows opened, the bursts
that found theirs open and the cycles of refresh must be those of dram_model.py, which
sees nothing but the trace of requests and when each transfer was granted; and the
bursts of the trace must be those of the report.
"""

import json
import os
import random
import re
import sys

import onnx

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402
import dram_model  # noqa: E402
import random_network  # noqa: E402
import report_rules  # noqa: E402
import seed_sweep  # noqa: E402

INPUT, MEMORY = 1 << 18, 1 << 20  # bytes of DRAM: of the program's input, and that it fills
PARTITION, PARTITIONS = 65536, 8
INDICES = 512  # bytes behind the input: 32-bit numbers below 16


def draw_dram(draw):
    burst = draw.choice([1, 4, 16, 32, 64, 64, 64, 256])
    dram = {"model": "banked",
            "bytes_per_cycle": draw.choice([1, 3, 8, 16, 48, 64, 64, 200]),
            "latency": draw.choice([110, 200, 1000]), "burst_bytes": burst,
            "row_bytes": burst * draw.choice([1, 2, 8, 16, 32]),
            "banks": draw.choice([1, 2, 3, 4, 8, 16, 32]),
            "activate_cycles": draw.choice([0, 1, 5, 18, 40]),
            "precharge_cycles": draw.choice([0, 1, 5, 18, 40]),
            "column_cycles": draw.choice([0, 1, 20, 30]),
            "misaligned_bursts": draw.choice(["true", "false"])}
    least = sum(dram[f"{name}_cycles"] for name in ("activate", "precharge", "column"))
    least += -(-burst // dram["bytes_per_cycle"])
    refresh = draw.choice([0, 1, 7, 100])
    dram["refresh_cycles"] = refresh
    dram["refresh_interval"] = draw.choice(
        [0, refresh + least + draw.choice([0, 1, 50, 1000]), 3900])
    if dram["refresh_interval"] == 0:
        dram["refresh_cycles"] = 280
    return dram


class Program:
    """Instructions whose results nothing else touches, on several queues."""

    def __init__(self, draw, dram):
        self.draw, self.dram = draw, dram
        self.lines = []
        self.inside, self.outside = 4096, INPUT + INDICES

    def add(self, mnemonic, queue, **fields):
        text = " ".join(f"{key}={value}" for key, value in fields.items() if value != 0)
        self.lines.append(f"{mnemonic} queue=dma{queue} {text}")

    def room(self, size):
        """A place in SB, all of it in one partition."""
        if self.inside % PARTITION + size > PARTITION:
            self.inside = (self.inside // PARTITION + 1) * PARTITION
        place, self.inside = self.inside, self.inside + size
        return place

    def full(self):
        return self.inside > (PARTITIONS - 1) * PARTITION or self.outside > MEMORY - (1 << 17)

    def counts(self, most):
        """Extents of one to four loops, outermost first."""
        counts = []
        for _ in range(self.draw.randint(1, 4)):
            counts.append(self.draw.choice([1, 2, 3, 5, 8, 13, 40, 100, 400]))
            most //= counts[-1]
            if most < 1:
                counts[-1] = 1
                break
        return counts

    def strides(self, counts, element, extent):
        """Byte strides and a base that stay inside `extent` bytes."""
        row = self.dram["row_bytes"]
        dense, strides = element, []
        for count in reversed(counts):
            stride = self.draw.choice(
                [dense, dense, dense, 0, element, dense + 1, row, row * self.dram["banks"],
                 self.draw.randint(1, 3000)])
            if self.draw.random() < 0.15:
                stride = -stride
            strides.insert(0, stride)
            dense = count * max(abs(stride), 1)
        def low_high():
            steps = [(n - 1) * s for n, s in zip(counts, strides)]
            return sum(min(s, 0) for s in steps), sum(max(s, 0) for s in steps) + element
        low, high = low_high()
        while high - low > extent:
            largest = max(range(len(strides)), key=lambda i: abs((counts[i] - 1) * strides[i]))
            strides[largest] //= 2
            low, high = low_high()
        return strides, self.draw.randint(-low, extent - high)

    @staticmethod
    def dense(counts, element):
        strides, step = [], element
        for count in reversed(counts):
            strides.insert(0, step)
            step *= count
        return strides, step

    @staticmethod
    def loops(counts, side="", strides=None):
        first = 5 - len(counts)
        if strides is None:
            return {f"n{first + i}": n for i, n in enumerate(counts)}
        return {f"{side}Stride{first + i}": s for i, s in enumerate(strides)}

    def apart(self, counts, element):
        """Strides of a result of its own in DRAM, with gaps."""
        strides, step = [], element
        for count in reversed(counts):
            step += self.draw.choice([0, 0, 0, 1, 7, 100])
            strides.insert(0, step)
            step *= count
        return strides, step

    def load(self, queue):
        counts, element = self.counts(4000), self.draw.choice([1, 1, 2, 4, 8])
        strides, base = self.strides(counts, element, INPUT)
        inside, size = self.dense(counts, element)
        self.add("dma.copy", queue, elemBytes=element, srcMem="dram", dstMem="sb", srcBase=base,
                 dstBase=self.room(size), **self.loops(counts),
                 **self.loops(counts, "src", strides), **self.loops(counts, "dst", inside))

    def store(self, queue):
        counts, element = self.counts(800), self.draw.choice([1, 2, 4, 8])
        inside, size = self.dense(counts, element)
        strides, reach = self.apart(counts, element)
        if reach > 1 << 16:
            return
        place = self.room(size)
        self.add("dma.fill", queue, dstMem="sb", dstBase=place, n4=size, dstStride4=1)
        base = self.outside + self.draw.choice([0, 0, 1, 13])
        self.outside += reach + 64
        common_fields = dict(elemBytes=element, dstMem="dram", dstBase=base,
                             **self.loops(counts), **self.loops(counts, "dst", strides))
        if self.draw.random() < 0.3:
            self.add("dma.fill", queue, value=3, **common_fields)
        else:
            self.add("dma.copy", queue, srcMem="sb", srcBase=place,
                     **self.loops(counts, "src", inside), **common_fields)

    def move(self, queue):
        """Both sides in DRAM."""
        counts, element = self.counts(800), self.draw.choice([1, 4])
        strides, base = self.strides(counts, element, INPUT)
        result, reach = self.apart(counts, element)
        if reach > 1 << 16:
            return
        self.add("dma.copy", queue, elemBytes=element, srcMem="dram", dstMem="dram", srcBase=base,
                 dstBase=self.outside, **self.loops(counts), **self.loops(counts, "src", strides),
                 **self.loops(counts, "dst", result))
        self.outside += reach + 64

    def unpack(self, queue):
        count = self.draw.randint(1, 3000)
        self.add("dma.unpack", queue, elemBytes=1, mantissa=self.draw.randint(3, 8),
                 srcBase=self.draw.randint(0, INPUT - 4000), n4=count, dstBase=self.room(count),
                 dstStride4=1)

    def gather(self, queue):
        rows, width = self.draw.randint(1, 40), self.draw.randint(1, 200)
        step = self.draw.choice([width, width + 3, self.dram["row_bytes"], 1024])
        place, result = self.room(4 * rows), self.room(rows * width)
        self.add("dma.copy", queue, srcMem="dram", dstMem="sb",
                 srcBase=INPUT + 4 * self.draw.randint(0, INDICES // 4 - rows), dstBase=place,
                 n4=4 * rows, srcStride4=1, dstStride4=1)
        step = min(step, (INPUT - 4096) // 16)
        self.add("dma.gather", queue, elemBytes=1, indexType="i32", size=16, axisStride=step,
                 srcBase=self.draw.randint(0, 2048), indexBase=place, n3=rows, n4=width,
                 srcStride4=1, indexStride3=4, dstBase=result, dstStride3=width, dstStride4=1)

    def compress(self, queue):
        cells, rows, cols = self.draw.randint(1, 6), self.draw.randint(1, 8), self.draw.randint(1, 24)
        plane, room = rows * cols, 64 + 2 * rows * cols
        pitch = room + self.draw.choice([0, 1, 40])
        place, back = self.room(cells * plane), self.room(cells * plane)
        self.add("dma.copy", queue, srcMem="dram", dstMem="sb",
                 srcBase=self.draw.randint(0, INPUT - 4096), dstBase=place, n4=cells * plane,
                 srcStride4=1, dstStride4=1)
        loops = dict(form="bitmap", n1=cells, n3=rows, n4=cols, cellBytes=room,
                     typicalBytes=room // 2)
        self.add("dma.compress", queue, srcBase=place, dstBase=self.outside, srcStride1=plane,
                 srcStride3=cols, srcStride4=1, dstStride1=pitch, **loops)
        del loops["form"]
        self.add("dma.expand", queue, srcBase=self.outside, dstBase=back, srcStride1=pitch,
                 dstStride1=plane, dstStride3=cols, dstStride4=1, **loops)
        self.outside += cells * pitch + 64

    def build(self, count):
        kinds = [self.load] * 6 + [self.store] * 3 + [self.move, self.unpack, self.gather,
                                                      self.compress]
        while len(self.lines) < count and not self.full():
            self.draw.choice(kinds)(self.draw.randrange(4))
        return self.lines


def machine_text(dram, rest=""):
    return "name: banks\\ndram:\\n" + "".join(f"  {k}: {v}\\n" for k, v in dram.items()) + rest


def draw_program(seed, folder):
    """Writes model.ash and banks.yaml."""
    draw = random.Random(seed)
    dram = draw_dram(draw)
    indices = "".join(f"{draw.randrange(16):02x}000000" for _ in range(INDICES // 4))
    # Counts and strides are those of a1-tiny, whose SB the instructions fill.
    small = "sb:\\n  partitions: 8\\n  bytes_per_partition: 65536\\nxm_group: 4\\n" \
            "pe:\\n  rows: 8\\n  columns: 4\\n  row_group_granularity: 4\\n"
    if draw.random() < 0.5:
        small += "dma:\\n  setup_cycles: 8\\n  runs_per_cycle: 4\\n"
    text = machine_text(dram, small)
    lines = [f'.machine yaml="{text}"', f".memory dram={2 * MEMORY}",
             f".input name=x type=u8 shape=[{INPUT}] at=0",
             f".data at={INPUT} hex={indices}", ".output name=y type=u8 shape=[16] at=0"]
    lines += Program(draw, dram).build(draw.choice([3, 10, 60]))
    source, binary = (os.path.join(folder, n) for n in ("program.s", "model.ash"))
    for path, content in ((source, "\n".join(lines) + "\n"),
                          (os.path.join(folder, "banks.yaml"), text.replace("\\n", "\n"))):
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
    common.run_tool("ashlar-as", source, "-o", binary)
    return binary, f"{len(lines) - 5} instructions, {dram}"


def draw_network(seed, folder):
    draw = random.Random(seed)
    network, _ = random_network.build(seed, 1)
    model = os.path.join(folder, "model.onnx")
    onnx.save(network, model)
    machine = os.path.join(folder, "banks.yaml")
    dram = draw_dram(draw)
    with open(machine, "w", encoding="utf-8") as file:
        file.write(machine_text(dram).replace("\\n", "\n"))
    binary = os.path.join(folder, "model.ash")
    common.run_tool("ashlarc", model, "-o", binary, f"--machine={machine}")
    return binary, f"network, {dram}"


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def compare(binary, folder, seed=1):
    """What the run and the model say; a Mismatch if they differ."""
    trace, report, requests = (os.path.join(folder, n) for n in ("t.json", "r.json", "requests"))
    common.run_tool("ashlar-run", binary, f"--random-inputs={seed}", "--quiet",
                    f"--trace={trace}", f"--report={report}", f"--dram-trace={requests}")
    ran = read(report)
    if broken := report_rules.check_run(ran):
        raise seed_sweep.Mismatch("the report: " + "; ".join(broken[:5]))
    slices = [e for e in read(trace)["traceEvents"] if e.get("cat") == "dram"]
    dram, totals = ran["machine_parameters"]["dram"], ran["totals"]
    lines = dram_model.requests(requests)
    for write, key in ((False, "dram_read"), (True, "dram_write")):
        found = sum(kind == write for kind, _ in lines) * dram["burst_bytes"]
        if found != totals[key]:
            raise seed_sweep.Mismatch(f"{found} bytes in the trace, {key} {totals[key]}")
    if any(address % dram["burst_bytes"] for _, address in lines):
        raise seed_sweep.Mismatch("requests that are no whole bursts")
    transfers = [(e["ts"], e["args"]["bursts"]) for e in slices]
    cycles, activations, hits, refresh = dram_model.walk(dram, lines, transfers)
    for event, expected in zip(slices, cycles):
        if event["dur"] != expected:
            raise seed_sweep.Mismatch(
                f"instruction {event['args']['instruction']} ({event['name']}) owns DRAM for "
                f"{event['dur']} cycles from {event['ts']} on, expected {expected}")
    for key, expected in (("dram_busy", sum(cycles)), ("dram_activations", activations),
                          ("dram_row_hits", hits), ("dram_refresh", refresh)):
        if totals[key] != expected:
            raise seed_sweep.Mismatch(f"{key} {totals[key]}, expected {expected}")
    return (f"{len(lines)} bursts in {len(slices)} transfers, {sum(cycles)} cycles, "
            f"{activations} rows opened, {refresh} cycles of refresh")


def check(seed, folder):
    draw = draw_network if seed % 10 == 9 else draw_program
    binary, what = draw(seed, folder)
    return "equal", f"{what}: {compare(binary, folder, seed)}"


def network(arguments):
    import tempfile
    name = "resnet8_cifar10"
    if arguments and (chosen := re.fullmatch("--model=(.*)", arguments[0])):
        name, arguments = chosen[1], arguments[1:]
    path = name if name.endswith(".onnx") else common.model_path(name)
    with tempfile.TemporaryDirectory() as folder:
        machine, binary = (os.path.join(folder, n) for n in ("banks.yaml", "m.ash"))
        with open(machine, "w", encoding="utf-8") as file:
            file.write("name: banks\ndram: {model: banked, misaligned_bursts: true}\n")
        if not any(a.startswith("--machine=") for a in arguments):
            arguments = [f"--machine={machine}", *arguments]
        common.run_tool("ashlarc", path, "-o", binary, *arguments)
        print(f"{name}: {compare(binary, folder)}")
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["network"]:
        sys.exit(network(sys.argv[2:]))
    sys.exit(seed_sweep.main(__doc__, "programs", check))
