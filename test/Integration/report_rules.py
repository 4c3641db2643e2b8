# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What must hold in every report (docs/ReportSchema.md): sums, and shares that are
never above 1."""

RATIOS = ("occupancy", "utilisation", "end_to_end", "cluster_utilisation", "dram_utilisation",
          "dram_end_to_end")
KINDS = ("mantissas", "exponents", "coefficients", "parameters", "tensors")


def ratios(value, path=""):
    """(path, ratio) of every share in a report."""
    if isinstance(value, list):
        for index, entry in enumerate(value):
            yield from ratios(entry, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, entry in value.items():
            where = f"{path}.{key}" if path else key
            if key in RATIOS:
                yield where, entry
            elif key != "decisions":
                yield from ratios(entry, where)


class Rules:
    """Collects what does not hold."""

    def __init__(self):
        self.broken = []

    def equal(self, what, found, expected):
        if found != expected:
            self.broken.append(f"{what}: {found}, expected {expected}")

    def most(self, what, found, limit):
        if not 0 <= found <= limit:
            self.broken.append(f"{what}: {found}, expected 0 to {limit}")


def check_engines(rules, report):
    total = report["total_cycles"]
    nodes = report["nodes"] + [report["unassigned"]]
    for name, engine in report["engines"].items():
        rules.equal(f"{name}: busy and stalls", engine["busy"] + sum(engine["stall"].values()),
                    total)
        rules.equal(f"{name}: busy of the nodes", sum(n["busy"].get(name, 0) for n in nodes),
                    engine["busy"])
        rules.most(f"{name}: work", engine["work"], engine["busy"] * engine["peak_per_cycle"])
        rules.most(f"{name}: useful work", engine["useful"], engine["work"])


def check_nodes(rules, report):
    total = report["total_cycles"]
    rules.equal("cycles of the nodes", sum(n["cycles"] for n in report["nodes"]),
                total - report["idle_cycles"])
    rules.equal("idle cycles", report["unassigned"]["cycles"], report["idle_cycles"])
    for node in report["nodes"]:
        name = node["name"]
        rules.most(f"{name}: end", node["end"], total)
        rules.equal(f"{name}: span", node["span"], node["end"] - node["start"])
        rules.most(f"{name}: share of the run", node["cycles"], node["span"])
        for engine, busy in node["busy"].items():
            rules.most(f"{name}: cycles of {engine}", busy, node["span"])
        rules.equal(f"{name}: cycles of the array", node["pe_busy"], node["busy"].get("pe", 0))


def check_totals(rules, report):
    totals, nodes = report["totals"], report["nodes"]
    rules.equal("pe_busy", totals["pe_busy"], report["engines"]["pe"]["busy"])
    rules.equal("copied", totals["copied"], sum(e["copied"] for e in report["engines"].values()))
    rules.most("cycles of DRAM", totals["dram_busy"], report["total_cycles"])
    rules.most("useful bytes of DRAM", totals["dram_useful"],
               totals["dram_read"] + totals["dram_write"])
    bursts = totals["dram_activations"] + totals["dram_row_hits"]
    if bursts:
        rules.equal("bursts", bursts * report["machine_parameters"]["dram"]["burst_bytes"],
                    totals["dram_read"] + totals["dram_write"])
    rules.most("cycles of refresh", totals["dram_refresh"], totals["dram_busy"])
    for key in ("macs", "issued", "dram_read", "dram_write", "dram_activations"):
        rules.most(f"{key} of the nodes", sum(n[key] for n in nodes), totals[key])


def check_energy(rules, report):
    nodes = report["nodes"] + [report["unassigned"]]
    for action, count in report["actions"].items():
        rules.equal(action, sum(n["actions"].get(action, 0) for n in nodes), count)
    counts = report["actions"]
    for action, total in (("read", "read"), ("write", "write"), ("activate", "activations")):
        rules.equal(f"dram.{action} of the energy", counts.get(f"dram.{action}", 0),
                    report["totals"][f"dram_{total}"])
    rules.equal("products of the energy", sum(w["count"] for w in report["multiplications"]),
                report["totals"]["issued"])
    for engine, component in (("pe", "pe"), ("tcc", "tcu")):
        rules.equal(f"products of digits of {component}",
                    counts.get(f"{component}.multiply", 0), report["engines"][engine]["work"])
    rules.most("energy at best", report["energy"]["low_pj"],
               float(report["energy"]["dynamic_pj"]) * (1 + 1e-9))
    rules.most("energy", float(report["energy"]["dynamic_pj"]),
               report["energy"]["high_pj"] * (1 + 1e-9))


def check_run(report):
    """Problems about a report of ashlar-run."""
    rules = Rules()
    for where, value in ratios(report):
        rules.most(where, value, 1)
    check_engines(rules, report)
    check_nodes(rules, report)
    check_totals(rules, report)
    if "energy" in report:
        check_energy(rules, report)
    return rules.broken


def check_compile(report):
    """Problems about a report of ashlarc."""
    rules = Rules()
    if "storage" not in report:
        return rules.broken
    nodes = report["storage"]
    sums = {key: sum(node[key] for node in nodes) for key in (*KINDS, "padding", "weights")}
    stored = sum(sums[kind] for kind in KINDS)
    rules.equal("constants of the nodes", stored, report["constant_bytes"])
    rules.equal("weight_bytes", report["weight_bytes"],
                sums["mantissas"] + sums["exponents"] + sums["coefficients"])
    for kind in ("parameter", "tensor", "padding"):
        rules.equal(f"{kind}_bytes", report[f"{kind}_bytes"],
                    sums[kind if kind == "padding" else kind + "s"])
    rules.equal("weights", report["weights"], sums["weights"])
    rules.equal("bits per weight", report["bits_per_weight"],
                8 * (stored + sums["padding"]) / sums["weights"])
    rules.most("constants in DRAM", stored + sums["padding"], report["dram_bytes"])
    return rules.broken
