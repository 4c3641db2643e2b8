# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Actions of a program, counted from its disassembly by the rules of docs/Energy.md.

Written apart from lib/Energy. Axes are walked index by index where the text speaks of
indices. Instructions of the sparse cluster are not followed (NotFollowed): what they
do follows from coefficients and data.
"""

import math
from collections import Counter, defaultdict

BYTES = {"f32": 4, "f16": 2, "bf16": 2, "i8": 1, "u8": 1, "bool": 1, "i16": 2, "u16": 2,
         "i32": 4, "u32": 4, "i64": 8, "u64": 8, "f64": 8}
FLOAT_BITS = {"f32": 24, "f16": 11, "bf16": 8}
CLASSES = {
    "cheap": "copy neg abs relu clip floor ceil round sign not add sub max min and or xor "
             "blockAdd blockSub sum mean l1",
    "medium": "mul blockMul equal less lessOrEqual greater greaterOrEqual prod sumSquare "
              "argmax argmin",
    "expensive": "sqrt reciprocal div blockDiv mod leakyRelu prelu hardSigmoid hardSwish "
                 "softsign",
    "very_expensive": "exp log sigmoid tanh elu selu softplus erf gelu geluTanh swish pow "
                      "sin cos tan asin acos atan sinh cosh asinh acosh atanh"}
CLASS_OF = {name: cost for cost, names in CLASSES.items() for name in names.split()}
REGISTER = 2


class NotFollowed(Exception):
    """The program uses the sparse cluster."""


def sorting(count):
    """Steps of a sort: one for each element and level."""
    return count if count < 2 else count * (count - 1).bit_length()


def size_of(kind, mantissa):
    return (1 if mantissa <= 8 else 2) if kind == "bfp" else BYTES[kind]


def streamed(steps):
    """Elements that pass; innermost dimensions of stride 0 stay in the engine."""
    steps = list(steps)
    while steps and steps[-1][1] == 0:
        steps.pop()
    return math.prod(count for count, _ in steps)


class Program:
    """Actions by node of a disassembled program."""

    def __init__(self, isa, machine, text):
        self.machine = machine
        self.info = {i["mnemonic"]: i for i in isa["instructions"]}
        self.defaults = {}
        for mnemonic, info in self.info.items():
            self.defaults[mnemonic] = {}
            for field in info["fields"]:
                value = field["default"]
                if field["kind"] == "enum":
                    names = {v: k for k, v in isa["enums"][field["enum"]].items()}
                    value = names[value]
                self.defaults[mnemonic][field["name"]] = value
        self.counts = defaultdict(Counter)
        self.widths = defaultdict(Counter)
        self.shadow = self.active = None
        self.by_data = set()  # nodes whose data decide their traffic of DRAM
        node = -1
        for line in text.splitlines():
            word = line.split(" ", 1)[0]
            if word == ".for":
                node = self.node_of(line)
            elif word in self.info:
                self.node = node
                self.instruction(word, line)

    @staticmethod
    def node_of(line):
        value = line.split("node=")[1].split()[0]
        return int(value) if value.lstrip("-").isdigit() else -1

    def add(self, action, count):
        self.counts[self.node][action] += count

    def instruction(self, mnemonic, line):
        fields = dict(self.defaults[mnemonic])
        for word in line.split(";")[0].split()[1:]:
            name, _, value = word.partition("=")
            number = value.lstrip("-").isdigit()
            fields[name] = int(value) if number else value
        self.add("fetch.read", 8 * self.info[mnemonic]["words"])
        handler = getattr(self, mnemonic.replace(".", "_"), None)
        if handler:
            handler(fields)
        elif mnemonic.startswith(("tcc.", "dma.tile")):
            raise NotFollowed(mnemonic)

    # Tensors in SB.

    def rows_of_cells(self, part, channels):
        return len({lane // self.machine["xm_group"] for lane in range(part, part + channels)})

    def tensor(self, access, kind, mantissa, part, channels, positions):
        self.add(f"sb.{access}", positions * channels * size_of(kind, mantissa))
        if kind == "bfp":
            self.add(f"xm.{access}", positions * self.rows_of_cells(part, channels))

    def operand(self, f, access, prefix, names, channels, kind=None):
        key = (lambda n: prefix + n[0].upper() + n[1:]) if prefix else (lambda n: n)
        steps = [(f[count], f[key("stride" + suffix)]) for count, suffix in names]
        self.tensor(access, kind or f[key("type")], f.get(key("mantissa"), 0), f[key("part")],
                    channels, streamed(steps))

    def encode(self, f):
        if f["dstType"] == "bfp":
            own = f.get("keepOwn", 0)
            self.add("xr.read", 2 * REGISTER if own else REGISTER)
            if own or not f.get("cellFromXr", 0):
                self.add("xr.write", REGISTER)

    # Copies.

    def steps(self, f, side):
        return [(f[f"n{i}"], f[f"{side}Stride{i}"]) for i in range(5)]

    def bursts(self, base, steps, element):
        """Bytes of whole bursts of one side in DRAM."""
        steps = [step for step in steps if step[0] > 1]
        while steps and steps[-1][1] == 0:
            steps.pop()
        run = element
        while steps and steps[-1][1] == run:
            run *= steps.pop()[0]
        burst = self.machine["dram"]["burst_bytes"]
        if self.machine["dram"]["misaligned_bursts"]:
            # A run takes the bursts that it touches.
            starts = [base]
            for count, stride in steps:
                starts = [at + i * stride for at in starts for i in range(count)]
            return burst * sum((at + run - 1) // burst - at // burst + 1 for at in starts)
        return math.prod(count for count, _ in steps) * math.ceil(run / burst) * burst

    def side(self, f, side, memory, access):
        steps = self.steps(f, side)
        if memory == "dram":
            self.add(f"dram.{access}", self.bursts(f[side + "Base"], steps, f["elemBytes"]))
        else:
            self.add(f"{memory}.{access}", streamed(steps) * f["elemBytes"])

    def move(self, f):
        self.add("dma.move", math.prod(f[f"n{i}"] for i in range(5)) * f["elemBytes"])

    def dma_copy(self, f):
        self.move(f)
        self.side(f, "src", f["srcMem"], "read")
        self.side(f, "dst", f["dstMem"], "write")

    def dma_fill(self, f):
        self.move(f)
        self.side(f, "dst", f["dstMem"], "write")

    def dma_unpack(self, f):
        self.move(f)
        codes = math.prod(f[f"n{i}"] for i in range(5))
        bits = {"dense": codes * f["mantissa"],
                "bitmap": codes // max(f["unit"], 1) + f["stored"] * f["mantissa"],
                "runs": f["stored"] * (f["mantissa"] + f["unit"]),
                "exponents": codes * f["mantissa"],
                }[f["form"]]
        if f["form"] == "exponents":  # dimensions that the queue repeats
            bits //= math.prod(f[f"n{i}"] for i in [(), (3,), (2, 4)][f["unit"]])
        if bits:  # weights may all be zero
            self.add("dram.read", self.bursts(f["srcBase"], [(math.ceil(bits / 8), 1)], 1))
        self.side(f, "dst", "xm" if f["form"] == "exponents" else "sb", "write")

    def dma_gather(self, f):
        self.move(f)
        index = self.steps(f, "index")
        inner = max((i for i, (n, s) in enumerate(index) if n > 1 and s), default=-1)
        rows = math.prod(n for n, _ in index[:inner + 1])
        if self.machine["dram"]["misaligned_bursts"]:
            self.by_data.add(self.node)  # indices decide where rows lie
        self.add("dram.read",
                 rows * self.bursts(0, self.steps(f, "src")[inner + 1:], f["elemBytes"]))
        indices = streamed(index) * BYTES[f["indexType"]]
        self.add("dma.move", indices)
        self.add("sb.read", indices)
        self.side(f, "dst", "sb", "write")

    def map_of(self, f):
        self.by_data.add(self.node)
        return math.prod(f[f"n{i}"] for i in range(5)) * f["elemBytes"]

    def dma_compress(self, f):
        read = self.map_of(f) * (2 if f["levels"] else 1)
        self.add("dma.move", read)
        self.add("sb.read", read)

    def dma_expand(self, f):
        written = self.map_of(f)
        self.add("dma.move", written)
        self.add("sb.write", written)

    # The host. Data decide the steps of host.nms.

    def host_nonzero(self, f):
        self.host(f, math.prod(f[f"n{i}"] for i in range(8)) * (1 + f["rank"]))

    def host_sort(self, f):
        kept = min(f["keep"], f["extent"])
        self.host(f, f["outer"] * f["inner"] * (2 * f["extent"] + sorting(kept)))

    def host_unique(self, f):
        self.host(f, sorting(f["rows"]) * f["length"] + 3 * f["rows"])

    def host_nms(self, f):
        raise NotFollowed("host.nms")

    def host(self, f, steps):
        del f
        self.by_data.add(self.node)  # whole operands in DRAM are not followed
        self.add("host.step", steps)

    # The array.

    def bits(self, f):
        if f["mode"] == "select":
            return 1
        if f["mode"] == "bfp":
            return f["mantissa"]
        if f["mode"] == "float":
            return FLOAT_BITS[f["type"]]
        return 8 * size_of(f["type"], f["mantissa"])

    def digits(self, f):
        """Digits of an element. Cells multiply them with a sign, which is that of a mantissa."""
        bits = self.bits(f) - (f["mode"] == "bfp")
        return math.ceil(bits / self.machine["pe"]["cell_digit_bits"])

    def cells(self, f, elements, dense):
        """Cells next to `elements` elements of each of the rows."""
        if f["orientation"] == "p" or f.get("groups", 1) > 1:
            return elements * self.rows_of_cells(f["part"], f["rows"])
        return f["rows"] * (math.ceil(elements / self.machine["xm_group"]) if dense
                            else elements)

    def words(self, f):
        """Words of a column that the cells hold."""
        if not f["pattern"]:
            return f["rows"]
        kept, group = (self.machine["pe"]["pattern_" + n] for n in ("kept", "group"))
        return sum(min(kept, f["rows"] - first) for first in range(0, f["rows"], group))

    def pe_load(self, f):
        self.shadow = self.bits(f), self.digits(f)
        size = size_of(f["type"], f["mantissa"])
        columns = f["cols"] if f["colStride"] else 1
        self.add("sb.read", f["rows"] * columns * size)
        self.add("pe.load", self.words(f) * f["cols"] * size)
        if f["pattern"]:
            places = math.log2(self.machine["pe"]["pattern_group"])
            self.add("pattern.load", math.ceil(self.words(f) * f["cols"] * places / 8))
        if f["type"] == "bfp":
            self.add("xm.read", self.cells(f, columns, f["colStride"] == size))
            if f["mode"] == "bfp":
                self.add("xr.read", REGISTER)

    def pe_swap(self, _):
        self.active = self.shadow

    def stream(self, f):
        """Elements that a row of the array reads."""
        def valid(i):
            return sum(f[f"lo{i}"] <= t < f[f"hi{i}"] for t in range(f[f"n{i}"]))
        outer = [valid(0), valid(1)]
        if f["groups"] > 1:
            return math.prod(outer) * sum(f["lo2"] <= w * (1 + f["skip"]) + f["shift"] < f["hi2"]
                                          for w in range(f["validW"]))
        counts = [*outer, valid(2)]
        if not all(counts):
            return 0
        return streamed([(n, f[f"stride{i}"]) for i, n in enumerate(counts)])

    def pe_matmul(self, f):
        elements, size = self.stream(f), size_of(f["type"], f["mantissa"])
        self.add("sb.read", elements * f["rows"] * size)
        if f["type"] == "bfp":
            self.add("xm.read", self.cells(f, elements, f["stride2"] == size))
            if f["mode"] == "bfp":
                self.add("xr.read", REGISTER)
        sums = f["n0"] * f["n1"] * (f["validW"] if f["groups"] > 1 else f["n2"]) * f["cols"]
        rounds = 1
        if f["mode"] == "select":
            self.add("pe.select", sums * f["rows"])
        else:
            bits, (loaded, loaded_digits) = self.bits(f), self.active
            passes = self.digits(f) * loaded_digits
            digits = sums * self.words(f) * passes
            self.add("narrow.multiply" if f["narrow"] else "pe.multiply", digits)
            if f["pattern"]:
                self.add("pattern.pick", digits)
            self.widths[self.node][(bits, loaded)] += sums * self.words(f)
            if f["mode"] == "float":
                self.add("pe.float_accumulate", sums * f["rows"])
            else:
                self.add("pe.accumulate", digits)
                rounds = passes
        added = sums * (rounds - (0 if f["accumulate"] else 1))
        self.add("psum.write", 8 * sums * rounds)
        self.add("psum.read", 8 * added)
        self.add("psum.accumulate", added)

    def act_drain(self, f):
        if f["fromTcu"]:
            raise NotFollowed("act.drain")
        moves = f["mode"] == "raw64" and not f["typed"]
        self.add("psum.read", 8 * f["n0"] * f["n1"] * f["n2"] * f["cols"])
        # With groups of lanes, a step has several results along dimension 1.
        lanes = f["groupLanes"] or f["cols"]
        counts = [f["n0"], f["validN1"] if f["groupLanes"] else f["n1"], f["n2"]]
        steps = math.prod(counts)
        results = steps * lanes
        self.add(f"act.{CLASS_OF[f['function']]}", results)
        if f["hasScale"]:
            self.add("act.medium", results)
        self.add("act.cheap", results * (bool(f["hasBias"] or f["biasAligned"]) +
                                         bool(f["resMode"]) +
                                         (f["dstType"] == "bfp" and not moves)))
        if any(f[name] for name in ("hasScale", "hasBias", "hasExp", "alphaFromParam", "mapped")):
            self.add("sb.read", 16 * (steps if f["paramAlongSteps"] else f["cols"]))
        if f["resMode"]:
            walk = streamed([(counts[i], f[f"resStride{i}"]) for i in range(3)])
            self.tensor("read", f["resType"], f["resMantissa"], f["resPart"], lanes, walk)
        self.add("sb.write", results * size_of(f["dstType"], f["dstMantissa"]))
        if f["dstType"] == "bfp":
            self.add("xm.write", f["cols"] * math.ceil(steps / self.machine["xm_group"])
                     if f["dstOrientation"] == "f"
                     else steps * self.rows_of_cells(f["dstPart"], lanes))
        if f["mode"] in ("f32", "block"):
            self.add("xr.read", 2 * REGISTER)
        if not moves:
            self.encode(f)
        if f["counted"]:
            self.add("counters.read", 0 if f["countClear"] else 4 * steps)
            self.add("counters.write", 4 * steps)

    def act_pool(self, f):
        raise NotFollowed("act.pool")

    # The vector unit.

    LOOPS = (("n0", "0"), ("n1", "1"), ("n2", "2"))

    def store(self, f, source, results):
        if f["dstType"] == "bfp" or f["dstType"] != f[source]:
            self.add("vec.cheap", results)
        self.encode(f)

    def vec_map(self, f):
        channels = f["channels"]
        self.operand(f, "read", "a", self.LOOPS, 1 if f["aBroadcastPart"] else channels)
        two = f["bMode"] == "tensor"
        if two:
            self.operand(f, "read", "b", self.LOOPS, 1 if f["bBroadcastPart"] else channels)
        self.operand(f, "write", "dst", self.LOOPS, channels)
        elements = channels * f["n0"] * f["n1"] * f["n2"]
        self.add(f"vec.{CLASS_OF[f['op']]}", elements)
        for name, kind in (("scale", "medium"), ("bias", "cheap")):
            if f["has" + name.title()]:
                self.tensor("read", "f32", 0, f[name + "Part"],
                            1 if f[name + "BroadcastPart"] else channels, 1)
                self.add("vec." + kind, elements)
        if f["affine"]:
            self.add("vec.medium", elements * (1 + two))
        if f["rounded"]:
            self.add("vec.medium", elements)
        if f["limited"]:
            self.add("vec.cheap", elements)
        self.store(f, "aType", elements)

    def taps(self, f, axis):
        return sum(0 <= o * f["s" + axis] - f["p" + axis] + k * f["d" + axis] < f["in" + axis]
                   for o in range(f["out" + axis]) for k in range(f["k" + axis]))

    def vec_pool(self, f):
        channels = f["channels"]
        out = [f["out" + a] for a in "DHW"]
        kernel = [f["k" + a] for a in "DHW"]
        extent = [f["in" + a] for a in "DHW"]
        visits, first = math.prod(out) * math.prod(kernel), -1
        if f["kind"] == "max" and math.prod(kernel) > 1:
            rows = [extent[:2] + out[2:], extent[:1] + out[1:], out]
            passes = [(2, rows[0]), (1, rows[1]), (0, rows[2])]
            passes = [(axis, shape) for axis, shape in passes if kernel[axis] > 1]
            separable = sum(math.prod(shape) * kernel[axis] for axis, shape in passes)
            if separable < visits:
                visits, first = separable, passes[0][0]
        read = math.prod(self.taps(f, a) if first < 0 or i >= first else extent[i]
                         for i, a in enumerate("DHW"))
        self.tensor("read", f["srcType"], f["srcMantissa"], f["srcPart"], channels, read)
        self.operand(f, "write", "dst", [("out" + a, a) for a in "DHW"], channels)
        self.add("vec.cheap", visits * channels)
        results = math.prod(out) * channels
        if f["kind"] == "avg":
            self.add("vec.expensive", results)
        self.store(f, "srcType", results)

    def vec_reduce(self, f):
        channels, results = f["channels"], f["channels"] * f["o0"] * f["o1"]
        outer = [("o0", "O0"), ("o1", "O1")]
        self.operand(f, "read", "src", outer + [("r0", "R0"), ("r1", "R1")], channels)
        self.operand(f, "write", "dst", outer, channels)
        self.add(f"vec.{CLASS_OF[f['kind']]}", results * f["r0"] * f["r1"])
        if f["kind"] == "mean":
            self.add("vec.expensive", results)
        self.store(f, "srcType", results)

    def vec_reduce_channels(self, f):
        results = f["n0"] * f["n1"] * f["n2"]
        self.operand(f, "read", "src", self.LOOPS, f["channels"])
        self.operand(f, "write", "dst", self.LOOPS, 1)
        self.add(f"vec.{CLASS_OF[f['kind']]}", results * f["channels"])
        if f["kind"] == "mean":
            self.add("vec.expensive", results)
        self.store(f, "srcType", results)

    def vec_gather(self, f):
        channels, positions = f["channels"], f["n0"] * f["n1"] * f["n2"]
        moved = streamed([(f[f"n{i}"], f[f"indexStride{i}"]) for i in range(3)]) > 1
        own = streamed([(f[f"n{i}"], f[f"srcStride{i}"]) for i in range(3)])
        self.tensor("read", f["type"], 0, f["srcPart"],
                    1 if f["srcBroadcastPart"] else channels, positions if moved else own)
        self.operand(f, "read", "index", self.LOOPS,
                     1 if f["indexBroadcastPart"] else channels)
        self.operand(f, "write", "dst", self.LOOPS, channels, kind=f["type"])
        self.add("vec.medium", positions * channels)

    def scan(self, f):
        self.operand(f, "read", "", self.LOOPS, f["channels"])
        self.add("vec.cheap", f["channels"] * f["n0"] * f["n1"] * f["n2"])

    def vec_stat(self, f):
        self.scan(f)
        self.add("sr.read", 0 if f["clear"] else 1)
        self.add("sr.write", 1)

    def vec_measure(self, f):
        self.scan(f)
        self.add("xr.read", 0 if f["clear"] else REGISTER)
        self.add("xr.write", REGISTER)

    # Registers.

    def xr_set(self, _):
        self.add("xr.write", REGISTER)

    def xr_merge(self, f):
        self.add("xr.read", REGISTER * (1 if f["clear"] else 2))
        self.add("xr.write", REGISTER)

    def xr_pick(self, _):
        self.add("xr.read", 2 * REGISTER)
        self.add("xr.write", REGISTER)

    def xr_select(self, _):
        self.add("sr.read", 1)
        self.add("xr.write", REGISTER)
        self.add("vec.very_expensive", 1)

    def xr_predict(self, f):
        history = 2 + 2 * f["depth"]
        self.add("sr.read", 1)
        self.add("xr.read", (history + 2) * REGISTER)
        self.add("xr.write", (history + 1) * REGISTER)
        self.add("vec.cheap", f["depth"])
        self.add("vec.very_expensive", 1)
