// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of layers, and what differs from another run.

function formatsOf(layer) {
  const tensors = DATA.plan ? DATA.plan.tensors : [];
  const names = new Set(DATA.placements.filter(p => p.node === layer.name).map(p => p.name));
  const found = new Set();
  for (const tensor of tensors)
    if (names.has(tensor.name))
      found.add(tensor.format ? `bfp${tensor.format.mantissa}` : tensor.type);
  return [...found].join(", ");
}

function busyBar(layer) {
  const bar = element("span", { className: "mini" });
  const sum = ENGINES.reduce((total, name) => total + (layer.busy[name] || 0), 0);
  const most = Math.max(layer.span, sum, 1);
  for (const name of ENGINES) {
    const busy = layer.busy[name];
    if (!busy) continue;
    bar.append(element("i", { style: `width:${100 * busy / most}%;background:${COLOURS[name]}` }));
  }
  bar.onmousemove = event => showTooltip(event, ENGINES.filter(n => layer.busy[n])
    .map(n => `${n}: ${whole(layer.busy[n])} cycles`).join("\n"));
  bar.onmouseleave = hideTooltip;
  return bar;
}

/// Cycles that the instructions of a layer stalled, by cause, all queues together.
function stallsByLayer() {
  const found = new Map(RUN.nodes.map(layer => [layer.name, {}]));
  for (const { node, cause, busy } of DATA.timeline ? Object.values(DATA.timeline.stalled).flat() : []) {
    const causes = found.get(RUN.nodes[node]?.name);
    if (causes) causes[cause] = (causes[cause] || 0) + busy;
  }
  return found;
}

function stallBar(causes, most) {
  const bar = element("span", { className: "mini" });
  const list = Object.entries(causes).sort((a, b) => b[1] - a[1]);
  for (const [cause, cycles] of list)
    bar.append(element("i", { style: `width:${100 * cycles / most}%;background:${stallColour(cause)}` }));
  bar.onmousemove = event => showTooltip(event, list.map(([cause, cycles]) => `${cause}: ${whole(cycles)} cycles`).join("\n") || "no stall");
  bar.onmouseleave = hideTooltip;
  return bar;
}

function layerTable() {
  const node = section("layers", "Layers",
    "Cycles are those of the run that a layer decided; span is from its first start to its last completion; busy and stalled cycles are those of all engines, by engine and by cause. Click a title to sort, a row to mark its layer everywhere.");
  const number = (title, value, about) => ({ title, value, about, text: row => whole(value(row)) });
  const bytes = (title, value, about) => ({ title, value, about, text: row => value(row) ? scaled(value(row), "B") : "0" });
  const stalls = stallsByLayer();
  const total = causes => Object.values(causes).reduce((sum, cycles) => sum + cycles, 0);
  const mostStalled = Math.max(1, ...[...stalls.values()].map(total));
  const columns = [
    { title: "layer", value: row => row.name, left: true },
    { title: "operator", value: row => row.op, left: true },
    { title: "engine", value: row => row.engine === "tcu" ? "tcc" : row.engine, left: true },
    { title: "format", value: formatsOf, left: true },
    number("cycles", row => row.cycles),
    { title: "share", value: row => row.cycles / RUN.total_cycles, text: row => percent(row.cycles / RUN.total_cycles) },
    number("span", row => row.span),
    { title: "busy", value: row => Math.max(0, ...Object.values(row.busy)), cell: busyBar },
    ...(DATA.timeline ? [{ title: "stalled", value: row => total(stalls.get(row.name)),
                           cell: row => stallBar(stalls.get(row.name), mostStalled) }] : []),
    { title: "MACs", value: row => row.macs, text: row => row.macs ? scaled(row.macs, "") : "" },
    { title: "array use", value: row => row.utilisation, text: row => row.pe_busy ? percent(row.utilisation) : "" },
    bytes("DRAM read", row => row.dram_read),
    bytes("written", row => row.dram_write, "bytes written to DRAM"),
    bytes("copied", row => row.copied, "bytes copied inside the chip"),
    number("saturated", row => row.sat, "elements stored at the largest value of their block"),
  ];
  const ratios = DATA.accuracy ? DATA.accuracy.layers : {};
  if (Object.keys(ratios).length)
    columns.push({ title: "SNR", about: "against fp32, from --verify", value: row => ratios[row.name] ?? -Infinity,
                   text: row => row.name in ratios ? `${ratios[row.name].toFixed(1)} dB` : "" });
  if (RUN.nodes.some(row => row.energy_pj !== undefined))
    columns.push({ title: "energy", value: row => row.energy_pj, text: row => scaled(row.energy_pj * 1e-12, "J") });
  const lines = new Map();
  node.append(sortedTable(columns, RUN.nodes, 4, (line, row) => {
    lines.set(row.name, line);
    line.classList.toggle("chosen", row.name === selection.node);
    line.onclick = () => choose(row.name);
  }));
  selection.listeners.push(name => {
    for (const [layer, line] of lines) line.classList.toggle("chosen", layer === name);
    if (name) lines.get(name)?.scrollIntoView({ block: "nearest" });
  });
}

function comparison() {
  const other = DATA.baseline;
  if (!other) return;
  const growth = RUN.total_cycles / Math.max(other.total_cycles, 1) - 1;
  const node = section("comparison", "Comparison",
    `Against ${other.model} on ${other.machine}: ${whole(other.total_cycles)} cycles (${seconds(other.total_cycles, other.clock_hz)}), ` +
    `now ${whole(RUN.total_cycles)} (${seconds(RUN.total_cycles)}), ${growth < 0 ? "" : "+"}${percent(growth)} cycles. Layers are matched by name.`);
  const before = new Map(other.nodes.map(layer => [layer.name, layer]));
  const names = new Set([...RUN.nodes, ...other.nodes].map(layer => layer.name));
  const now = new Map(RUN.nodes.map(layer => [layer.name, layer]));
  const rows = [...names].map(name => ({ name, before: before.get(name), now: now.get(name) }));
  const cycles = layer => layer ? layer.cycles : 0;
  const change = row => cycles(row.now) - cycles(row.before);
  node.append(totalsOf(other), sortedTable([
    { title: "layer", value: row => row.name, left: true },
    { title: "cycles before", value: row => cycles(row.before), text: row => row.before ? whole(row.before.cycles) : "none" },
    { title: "cycles now", value: row => cycles(row.now), text: row => row.now ? whole(row.now.cycles) : "none" },
    { title: "change", about: "sorted by size", value: row => Math.abs(change(row)), cell: row => difference(change(row), whole) },
    { title: "DRAM before", value: row => row.before ? row.before.dram_read + row.before.dram_write : 0,
      text: row => row.before ? scaled(row.before.dram_read + row.before.dram_write, "B") : "" },
    { title: "DRAM now", value: row => row.now ? row.now.dram_read + row.now.dram_write : 0,
      text: row => row.now ? scaled(row.now.dram_read + row.now.dram_write, "B") : "" },
  ], rows, 3));
}

/// A signed number: fewer is better.
const difference = (value, text) => element("span", { className: value > 0 ? "worse" : value < 0 ? "better" : "" },
                                            `${value > 0 ? "+" : ""}${text(value)}`);

/// What both runs have as a whole.
function totalsOf(other) {
  const traffic = run => run.totals ? run.totals.dram_read + run.totals.dram_write : undefined;
  const lines = [
    ["cycles", run => run.total_cycles, whole],
    ["time", run => run.total_cycles / run.clock_hz, time => seconds(time, 1)],
    ["DRAM traffic", traffic, value => scaled(value, "B")],
    ["energy", run => run.energy && run.energy.total_pj, value => scaled(value * 1e-12, "J")],
  ];
  const body = element("tbody");
  for (const [name, value, text] of lines) {
    const before = value(other), now = value(RUN);
    if (!Number.isFinite(before) || !Number.isFinite(now)) continue;
    body.append(element("tr", {}, element("td", { className: "text" }, name), element("td", {}, text(before)),
                        element("td", {}, text(now)),
                        element("td", {}, before > 0 ? difference(now / before - 1, percent) : "")));
  }
  const titles = ["", "before", "now", "change"].map(title => element("th", { className: title ? "" : "text" }, title));
  return element("table", { className: "totals" }, element("thead", {}, element("tr", {}, ...titles)), body);
}

function decisions() {
  if (!RUN.decisions.length) return;
  const node = section("decisions", "Decisions", "What the compiler chose for each layer, why, and the predicted cycles of the alternatives.");
  const alternatives = row => Object.entries(row.alternatives || {})
    .map(([name, cycles]) => `${name} ${typeof cycles === "number" ? whole(cycles) : cycles}`).join(", ");
  node.append(sortedTable([
    { title: "layer", value: row => row.node || "", left: true },
    { title: "choice", value: row => row.choice || "", left: true },
    { title: "reason", value: row => row.reason || "", left: true },
    { title: "predicted cycles of the alternatives", value: alternatives, left: true, wide: true },
  ], RUN.decisions, -1));
}
