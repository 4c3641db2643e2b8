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
    [seconds(RUN.total_cycles), "per inference"],
    [scaled(totals.macs, "MAC"), "multiply-accumulates"],
    [whole(totals.macs_per_cycle), "MACs per cycle"],
    [percent(RUN.engines.pe.end_to_end), "of the array's peak, end to end"],
    [scaled(totals.dram_read + totals.dram_write, "B"), "DRAM traffic"],
    [percent(totals.dram_end_to_end), "of the DRAM rate, end to end"],
  ];
  if (RUN.energy && RUN.energy.total_pj !== undefined)
    cards.push([scaled(RUN.energy.total_pj * 1e-12, "J"), "energy per inference"]);
  const box = element("div", { className: "cards" });
  for (const [value, name] of cards)
    box.append(element("div", { className: "card" }, element("b", {}, value), element("span", {}, name)));
  document.querySelector("header").append(box);
}

function engineBars() {
  const node = section("engines", "Engines", "Cycles of each queue: busy in its colour, then its stalls by cause; waits for other queues are grey.");
  const causes = [...new Set(ENGINES.flatMap(name => Object.keys(RUN.engines[name].stall)))].sort();
  const waits = causes.filter(cause => !STALLS[cause]);
  const colour = cause => STALLS[cause] || WAITS[waits.indexOf(cause) % WAITS.length];
  const bars = element("div", { className: "bars" });
  for (const name of ENGINES) {
    const engine = RUN.engines[name];
    const bar = element("div", { className: "bar" });
    const part = (cycles, colour, words) => bar.append(element("i", {
      style: `width:${100 * cycles / RUN.total_cycles}%;background:${colour}`,
      onmousemove: event => showTooltip(event, `${name}: ${words} ${whole(cycles)} cycles, ${percent(cycles / RUN.total_cycles)}`),
      onmouseleave: hideTooltip,
    }));
    part(engine.busy, COLOURS[name], "busy");
    for (const cause of causes) if (engine.stall[cause]) part(engine.stall[cause], colour(cause), cause);
    bars.append(element("span", {}, name), bar,
                element("span", { className: "number", title: "busy, and use of its lanes while busy" },
                        `${percent(engine.busy / RUN.total_cycles)} / ${percent(engine.utilisation)}`));
  }
  node.append(bars, key(causes.map(cause => [cause, colour(cause)])));
}
