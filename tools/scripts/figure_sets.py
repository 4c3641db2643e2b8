# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The figures of the pages and what measures them (figures.py)."""

import functools
import os
import re
import tempfile

import drawn
import figure_tools as tools
from figure_tools import Console, Row, Sentences, Table, find, grouped, percent

GLYPHS = os.path.join(tools.ROOT, "tools", "demo-network", "glyphs.onnx")


def glyphs():
    """What the two commands of README.md print, without what depends on the host."""
    lines = []
    with tools.tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "glyphs.ash")
        lines += tools.tool("ashlarc", GLYPHS, "-o", program).splitlines()
        lines += tools.tool("ashlar-run", program, "--random-inputs=1").splitlines()
    kept = [re.sub(r"^emulated in .*?; ", "", line).replace(folder + os.sep, "")
            for line in lines]
    return [line for line in kept if not line.startswith("emulated in")]


def evaluation():
    """The table of docs/Evaluation.md."""
    data = os.path.splitext(GLYPHS)[0] + ".npz"
    return tools.tool("ashlar-eval", GLYPHS, f"--data={data}", "--formats=bfp8,bfp5",
                      "--reference=ashlar").splitlines()


def network(model):
    """Products, cycles and utilisation of a network on a1, cycles on a1-ideal."""
    def measure():
        file = model() if callable(model) else tools.shared(model)
        compiled, ran = tools.reports(file)
        total, engines = ran["totals"], ran["engines"]
        cells = [f"{total['macs'] / 1e6:,.1f} M",
                 grouped(tools.cycles(file, "--machine=a1-ideal")), grouped(ran["total_cycles"]),
                 f"{total['macs_per_cycle']:,.0f}"]
        for name in ("pe", "tcc"):
            engine = engines[name]
            cells.append(f"{percent(engine['utilisation'])} / {percent(engine['end_to_end'])}"
                         if engine["useful"] else "-")
        return cells + [f"{compiled['bits_per_weight']:.2f}"]
    return measure


# Networks that `tools/models draw` makes: their rows need no file that a clone lacks.
DRAWN = [("resnet50_v1.5", "ResNet-50 v1.5"), ("mobilenet_v2_1.0_224", "MobileNet v2"),
         ("densenet121", "DenseNet-121"), ("vit_s16", "ViT-S/16"),
         ("decoder", "decoder, 12 layers, width 512, 128 tokens", "--layers=12", "--width=512",
          "--hidden=1408", "--tokens=128", "--vocabulary=8192")]


def networks():
    quick = {"kws_dscnn": "DS-CNN (keywords)", "resnet8_cifar10": "ResNet-8 (CIFAR-10)",
             "resnet20_cifar10": "ResNet-20 (CIFAR-10)"}
    slow = {"squeezenet1_1": "SqueezeNet 1.1", "mobilenet_v2_1.0_224": "MobileNet v2",
            "kwt1_ln17": "keyword transformer"}
    def row(model, title, late):
        measure = network(model)
        return Row(model, lambda: [title] + measure(), late, ("models",))

    def drawing(name, title, *options):
        measure = network(lambda: drawn.model(name, *options))
        return Row(f"drawn {name}", lambda: [f"{title}, drawn"] + measure(), True)
    return Table(
        "networks", ["network", "multiply-accumulates", "cycles on `a1-ideal`", "cycles", "per cycle",
                     "array, busy / end to end", "sparse cluster, busy / end to end",
                     "bits per weight"],
        [row(m, t, False) for m, t in quick.items()] + [row(m, t, True) for m, t in slow.items()]
        + [drawing(n, t, *o) for n, t, *o in DRAWN])


def wall_times():
    """Seconds of the compiler and of the emulator, and of ONNX Runtime."""
    text = tools.script("tools/scripts/bench_resnet50.py")
    compile_seconds = find(r"compile seconds\W+([\d.]+)", text)[0]
    ratio = find(r"emulation / ONNX Runtime\W+([\d.]+)", text)[0]
    return [compile_seconds, ratio, tools.host()]


def speed():
    return Sentences(
        "emulation-speed", [], [Row("resnet50", wall_times, True, ("onnxruntime",))],
        compared=False, texts={"resnet50":
            "`tools/scripts/bench_resnet50.py` compiled ResNet-50 in {0} seconds and emulated it, cycles "
            "included, in {1} times what ONNX\nRuntime needed for the same network in fp32 with the same "
            "two threads ({2})."})


@functools.lru_cache(maxsize=None)
def board():
    """Host, rows and costs of one run of bench_speed.py."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "board.json")
        tools.script("tools/scripts/bench_speed.py", f"--json={file}")
        return tools.load(file)


def board_row(name, kernels):
    """The cells of a network with a kernel set; dashes where the host lacks that set, since
    one table holds the figures of one host."""
    def measure():
        import bench_speed
        for row in board()["rows"]:
            if row[:2] == [name, kernels]:
                return row
        return [name, kernels] + ["-"] * (len(bench_speed.HEAD) - 2)
    return measure


def boards():
    """docs/Speed.md: all of one run, never compared."""
    import bench_speed
    names = bench_speed.NETWORKS + [f"{name}, each of {count}"
                                    for name, count in bench_speed.DATA_SET.items()]
    needs = ("onnxruntime", "models")
    return [Sentences("speed-host", [], [Row("host", lambda: [board()["host"]], True, needs)],
                      compared=False, texts={"host": "Host: {0}."}),
            Table("speed-board", bench_speed.HEAD,
                  [Row(f"{name}/{kernels}", board_row(name, kernels), True, needs)
                   for name in names for kernels in ("amx", "avx512vnni", "avx2")],
                  compared=False),
            Table("speed-costs", bench_speed.COSTS,
                  [Row(name, lambda k=k: board()["costs"][k], True, needs)
                   for k, name in enumerate(bench_speed.NETWORKS)], compared=False)]


def storage(model):
    """What constants take, by kind."""
    def measure():
        report = tools.reports(tools.shared(model) if model != "glyphs" else GLYPHS)[0]
        kinds = ("mantissas", "exponents", "coefficients", "parameters", "tensors", "padding")
        sums = [sum(node[kind] for node in report["storage"]) for kind in kinds]
        return [model, grouped(report["weights"]), *map(grouped, sums),
                f"{report['bits_per_weight']:.2f}"]
    return measure


def storages():
    names = [("glyphs", ()), ("kws_dscnn", ("models",)), ("resnet8_cifar10", ("models",))]
    return Table(
        "constant-storage", ["network", "weights", "mantissas", "exponents", "coefficients",
                             "parameters", "tensors", "padding", "bits per weight"],
        [Row(name, storage(name), False, needs) for name, needs in names])


def integer_network(model):
    """Cycles in blocks and as a QDQ network of signed and unsigned weights."""
    def measure():
        def quantised(kind):
            return int(find(r"inputs, (\d+) cycles",
                            tools.script("test/Integration/Quantised/quantise_static.py", model,
                                         f"--weights={kind}"))[0])
        blocks, signed = tools.cycles(tools.shared(model)), quantised("signed")
        return [model, grouped(blocks), grouped(signed), grouped(quantised("unsigned")),
                f"{signed / blocks:.2f}"]
    return measure


def integer_networks():
    models = ("mnist_cnn", "kws_dscnn", "resnet8_cifar10", "resnet20_cifar10",
              "mobilenet_v1_0.25_128")
    return Table("integer-networks", ["network", "blocks, W=8", "QDQ, signed weights",
                                      "QDQ, unsigned weights", "signed / blocks"],
                 [Row(m, integer_network(m), True, ("models", "onnxruntime")) for m in models])


AUTO = re.compile(r"cycles +(\d+) = ([\d.]+) x W=8, [\d.]+ x uniform w=(\d+)\S*; bytes (\d+) of (\d+); "
                  r"judged ([\d.]+) % ([\d.-]+) dB")


def automatic(model, target):
    def measure():
        text = tools.script("test/Integration/AutoFormat/auto_format.py", model, f"--target={target}")
        match = AUTO.search(text)
        if not match:
            raise tools.Failure(f"not understood: {text.strip()[:200]}")
        total, ratio, width, own, uniform, agreement, noise = match.groups()
        wanted = target.split("=")[1]
        percents = "agreement" in target
        return [model, f"{wanted} %" if percents else f"{wanted} dB", grouped(total), ratio,
                f"{grouped(own)} B", f"W={width}: {grouped(uniform)} B",
                f"{agreement} %" if percents else f"{float(noise):.1f} dB"]
    return measure


def chosen_formats():
    agreement = ("mnist_cnn", "kws_dscnn", "resnet8_cifar10", "resnet20_cifar10", "kwt1_ln17",
                 "squeezenet1_1", "mobilenet_v1_0.25_128", "mobilenet_v2_1.0_224",
                 "shufflenet_v2_1.0")
    noise = ("mnist_cnn", "kws_dscnn", "resnet8_cifar10", "ad_autoencoder")
    pairs = [(m, "--min-agreement=98") for m in agreement] + [(m, "--min-snr=30") for m in noise]
    return Table("chosen-formats",
                 ["network", "target", "cycles", "of `W=8`", "constants",
                  "of the search's uniform", "judged"],
                 [Row(f"{m} {t}", automatic(m, t), True, ("models", "onnxruntime"))
                  for m, t in pairs])


def storage_costs(model, second):
    """A row of one of the two tables that storage_costs.py prints."""
    def measure():
        text = tools.script("test/Integration/Accuracy/storage_costs.py", model)
        lines = [line for line in text.splitlines() if line.startswith(f"| {model} |")]
        if len(lines) <= second:
            raise tools.Failure("no such row was printed")
        return [cell.strip() for cell in lines[second].strip("|").split("|")]
    return measure


def conversions():
    return Table("conversions", ["network", "operands of products", "encodes of inputs",
                                 "other encodes", "decodes"],
                 [Row(m, storage_costs(m, 0), True, ("models", "onnxruntime"))
                  for m in ("mnist_cnn", "resnet8_cifar10", "resnet20_cifar10")])


def residuals():
    return Table("residual-storage", ["network", "bfp", "bf16", "f32"],
                 [Row(m, storage_costs(m, 1), True, ("models", "onnxruntime"))
                  for m in ("resnet8_cifar10", "resnet20_cifar10")])


@functools.cache
def unsigned_table(model):
    text = tools.script("test/Integration/Accuracy/unsigned_blocks.py", model, "--table")
    return [[cell.strip() for cell in line.strip("|").split("|")]
            for line in text.splitlines() if line.startswith(f"| {model} |")]


def unsigned_blocks():
    formats = ("w=8", "w=8, unsigned", "w=9")
    return Table("unsigned-blocks", ["network", "activations", "tensors without signs", "cycles",
                                     "DRAM bytes", "noise"],
                 [Row(f"{m} {formats[i]}", lambda m=m, i=i: unsigned_table(m)[i], True,
                      ("models", "onnxruntime"))
                  for m in ("mnist_cnn", "kws_dscnn", "resnet8_cifar10", "resnet20_cifar10",
                            "mobilenet_v1_0.25_128") for i in range(len(formats))])


TILES = {"`rows=1`": "w=8", "`rows=4`": "w=8,rows=4", "`rows=16`": "w=8,rows=16",
         "`block=64`": "w=8,block=64"}


def weight_tiles():
    """Bits per weight, and noise of the network and of its weights alone."""
    def measure(model):
        text = tools.script("test/Integration/Accuracy/weight_tiles.py", model,
                            *(f"--format={name}" for name in TILES.values()))
        cells = [model]
        for name in TILES.values():
            bits, noise, weights = find(
                rf"`{re.escape(name)}` \| ([\d.]+) \|.*\| ([\d.]+) / [\d.]+ dB \| ([\d.]+) / ", text)
            cells.append(f"{float(bits):.2f}: {noise}, {weights} dB")
        return cells
    models = ("resnet20_cifar10", "squeezenet1_1", "kwt1_ln17", "mobilenet_v1_0.25_128")
    return Table("weight-tiles", ["network", *TILES],
                 [Row(m, lambda m=m: measure(m), True, ("models", "onnxruntime")) for m in models])


@functools.cache
def policy_table(model, samples):
    text = tools.script("test/Integration/Policies/policy_costs.py", model, f"--samples={samples}")
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in text.splitlines() if line.startswith("| `")]
    return {cells[0]: cells for cells in rows}


POLICIES = ("runmax", "fixed", "fixed(at=store)", "fixed(at=store,overflow=repair)", "stats(k=4)",
            "stats(k=4,at=store,overflow=saturate)", "stats(k=4,at=store)", "predict(k=3,depth=4)",
            "predict(k=3,depth=4,at=store,overflow=saturate)", "predict(k=3,depth=4,at=store)",
            "error(t=4,overflow=saturate)", "error(t=4)")


def policies():
    return [Table(f"policies-{name}", ["policy", "cycles", "saturated", "repaired blocks",
                                       "repair cycles", "noise"],
                  [Row(policy, lambda m=model, n=samples, p=policy: policy_table(m, n)[f"`{p}`"],
                       True, ("models", "onnxruntime")) for policy in POLICIES])
            for name, model, samples in (("autoencoder", "ad_autoencoder", 8),
                                         ("resnet8", "resnet8_cifar10", 4))]


def rounding(model, width):
    def measure():
        text = tools.script("test/Integration/Accuracy/rounding_draws.py", model, f"--width={width}")
        plain, chosen, least, most, mean, deviation = find(
            r"as it is ([\d.]+) dB, chosen ([\d.]+) dB, \d+ draws ([\d.]+) to ([\d.]+), "
            r"mean ([\d.]+), deviation ([\d.]+)", text)
        return [model, str(width), f"{plain} dB", f"{chosen} dB", f"{least} to {most} dB",
                f"{mean} dB", f"{deviation} dB"]
    return measure


def roundings():
    return Table("rounding-draws", ["network", "W", "as it is", "chosen", "eight draws", "mean",
                                    "deviation"],
                 [Row(f"{m} {w}", rounding(m, w), True, ("models", "onnxruntime"))
                  for m in ("resnet8_cifar10", "resnet20_cifar10") for w in (16, 6)])


PRESETS = ("a1", "a1-ideal", "a1-iso", "a1-edge", "a1-tiny", "fig3-4x4", "fig4-128x64")


def parameter(name):
    """The values of a parameter in the built-in machines."""
    return lambda: [f"`{name}`"] + [str(tools.parameters(preset)[name]) for preset in PRESETS]


def presets():
    return Table("presets", ["parameter"] + [f"`{preset}`" for preset in PRESETS],
                 [Row(name, parameter(name)) for name in tools.parameters("a1") if name != "name"])


def accuracy_row(model):
    """A line of the table that plot_bfp.py makes of docs/data/bfp_accuracy.json."""
    def measure():
        text = tools.script("tools/scripts/plot_bfp.py", "--table",
                            os.path.join(tools.ROOT, "docs", "data", "bfp_accuracy.json"))
        line = find(rf"(?m)^(\| {re.escape(model)} \(.*)$", text)[0]
        return [cell.strip() for cell in line.strip("|").split("|")]
    return measure


def accuracy():
    models = ("mobilenet_v1_0.25_128", "mobilenet_v2_1.0_224", "resnet20_cifar10",
              "resnet8_cifar10", "shufflenet_v2_1.0", "squeezenet1_1")
    return Table("accuracy", ["network (inputs)"] + [f"W={w}" for w in (16, 12, 10, 8, 6, 4)],
                 [Row(m, accuracy_row(m)) for m in models])


def all_sets():
    import figure_studies
    first = [Console("glyphs", [], [Row("run", glyphs)]),
             Console("evaluation", [], [Row("run", evaluation)]), networks(), speed(), *boards(), storages(),
             integer_networks(), chosen_formats(), conversions(), residuals(), unsigned_blocks(), weight_tiles(),
             *policies(), roundings(), accuracy(), presets()]
    return first + figure_studies.all_sets()
