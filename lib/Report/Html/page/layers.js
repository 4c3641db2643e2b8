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

function layerTable() {
  const node = section("layers", "Layers",
    "Cycles are the share of the run that a layer decided; span is from its first start to its last completion; busy is by engine.");
  const number = (title, value) => ({ title, value, text: row => whole(value(row)) });
  const columns = [
    { title: "layer", value: row => row.name, left: true },
    { title: "operator", value: row => row.op, left: true },
    { title: "engine", value: row => row.engine === "tcu" ? "tcc" : row.engine, left: true },
    { title: "format", value: formatsOf, left: true },
    number("cycles", row => row.cycles),
    { title: "share", value: row => row.cycles / RUN.total_cycles, text: row => percent(row.cycles / RUN.total_cycles) },
    number("span", row => row.span),
    { title: "busy", value: row => Math.max(0, ...Object.values(row.busy)), cell: busyBar },
    { title: "MACs", value: row => row.macs, text: row => row.macs ? scaled(row.macs, "") : "" },
    { title: "array use", value: row => row.utilisation, text: row => row.pe_busy ? percent(row.utilisation) : "" },
    number("DRAM read", row => row.dram_read),
    number("DRAM written", row => row.dram_write),
    number("copied", row => row.copied),
    number("saturated", row => row.sat),
  ];
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
  node.append(sortedTable([
    { title: "layer", value: row => row.name, left: true },
    { title: "before", value: row => cycles(row.before), text: row => row.before ? whole(row.before.cycles) : "none" },
    { title: "now", value: row => cycles(row.now), text: row => row.now ? whole(row.now.cycles) : "none" },
    { title: "change", value: change, cell: row => element("span", { className: change(row) > 0 ? "worse" : "better" },
                                                           `${change(row) > 0 ? "+" : ""}${whole(change(row))}`) },
    { title: "DRAM bytes before", value: row => row.before ? row.before.dram_read + row.before.dram_write : 0,
      text: row => row.before ? whole(row.before.dram_read + row.before.dram_write) : "" },
    { title: "DRAM bytes now", value: row => row.now ? row.now.dram_read + row.now.dram_write : 0,
      text: row => row.now ? whole(row.now.dram_read + row.now.dram_write) : "" },
  ], rows, 3));
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
    { title: "alternatives", value: alternatives, left: true },
  ], RUN.decisions.map((row, index) => ({ ...row, index })), 0));
}
