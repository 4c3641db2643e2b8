// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The headline, and what every engine did with its cycles.

function overview() {
  document.title = `${RUN.model} on ${RUN.machine}`;
  document.getElementById("title").textContent = `${RUN.model} on ${RUN.machine}`;
  const format = DATA.plan && DATA.plan.format ? `format ${DATA.plan.format}; ` : "";
  const origin = RUN.compiled_for ? `compiled for ${RUN.compiled_for}; ` : "";
  document.getElementById("subtitle").textContent =
    `${format}${origin}${RUN.nodes.length} layers, clock ${scaled(RUN.clock_hz, "Hz")}`;
  const totals = RUN.totals;
  const cards = [
    [whole(RUN.total_cycles), "cycles"],
    [seconds(RUN.total_cycles), "time per run"],
    [scaled(totals.macs, "").trim(), "multiply-accumulates"],
    [whole(totals.macs_per_cycle), "MACs per cycle"],
    [percent(RUN.engines.pe.end_to_end), "of the array's peak, end to end"],
    [scaled(totals.dram_read + totals.dram_write, "B"), "DRAM traffic"],
    [percent(totals.dram_end_to_end), "of the DRAM rate, end to end"],
  ];
  if (RUN.energy && RUN.energy.total_pj !== undefined)
    cards.push([scaled(RUN.energy.total_pj * 1e-12, "J"), "energy per run, leakage included"]);
  for (const output of DATA.accuracy ? DATA.accuracy.outputs : [])
    cards.push([output.snr_db === null ? "identical" : `${output.snr_db.toFixed(1)} dB`,
                `SNR of '${output.name}' against the expected array`, output.text, output.passed ? "" : "worse"]);
  const box = element("div", { className: "cards" });
  for (const [value, name, title, look] of cards)
    box.append(element("div", { className: "card", title: title || "" }, element("b", { className: look || "" }, value),
                       element("span", {}, name)));
  document.querySelector("header").append(box);
}

const ROLES = {
  dma: "copies", peload: "loads operands into the array", pe: "the array of multipliers", act: "drains sums: scale, bias, function",
  vec: "vector unit", tcc: "sparse cluster", host: "functions on the host",
};
const roleOf = name => ROLES[name] || ROLES[name.replace(/[0-9]+$/, "")] || "";

const REASONS = {
  drained: "no instruction is left", fetch: "the next instruction has not arrived", latency: "an own result is still in flight",
  "dram-busy": "DRAM serves another queue", "sb-busy": "a bank of the state buffer serves another instruction",
};
const reasonOf = cause => REASONS[cause] || `waits for a result of ${cause.replace("wait-", "")}`;

function engineBars() {
  const node = section("engines", "Engines",
    "What each queue did with the cycles of the run: busy in its own colour, then its stalls by cause (waits for other queues are grey). The last column is the use of the engine's peak rate while it was busy.");
  const bars = element("div", { className: "bars" });
  bars.append(...["", "", "busy", "use"].map(words => element("span", { className: "head" }, words)));
  for (const name of ENGINES) {
    const engine = RUN.engines[name];
    const bar = element("div", { className: "bar" });
    const part = (cycles, colour, words) => bar.append(element("i", {
      style: `width:${100 * cycles / RUN.total_cycles}%;background:${colour}`,
      onmousemove: event => showTooltip(event, `${name} (${roleOf(name)})\n${words}: ${whole(cycles)} cycles, ${percent(cycles / RUN.total_cycles)}`),
      onmouseleave: hideTooltip,
    }));
    part(engine.busy, COLOURS[name], "busy");
    for (const cause of CAUSES) if (engine.stall[cause]) part(engine.stall[cause], stallColour(cause), `${cause} (${reasonOf(cause)})`);
    bars.append(element("span", { title: roleOf(name) }, name), bar,
                element("span", { className: "number" }, percent(engine.busy / RUN.total_cycles)),
                element("span", { className: "number" }, percent(engine.utilisation)));
  }
  const roles = [...new Set(ENGINES.map(name => ROLES[name] ? name : name.replace(/[0-9]+$/, "")))].map(name => `${name}: ${ROLES[name] || ""}`);
  node.append(bars, key(CAUSES.map(cause => [cause, stallColour(cause), reasonOf(cause)])),
              element("p", { className: "roles" }, roles.join(" \u00b7 ")));
}
