// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every layer against the peaks of the engines and the DRAM rate.

const decade = power => power >= 0 ? whole(10 ** power) : (10 ** power).toFixed(-power);

const dramBytes = layer => layer.dram_read + layer.dram_write;

// The span of a layer has its prefetches and cycles of its neighbours: the work of
// its busiest engine, DRAM included, is what the layer needs by itself.
function busiest(layer) {
  const work = Object.entries(layer.busy);
  work.push(["DRAM", dramBytes(layer) / RUN.machine_parameters.dram.bytes_per_cycle]);
  return work.reduce((most, entry) => entry[1] > most[1] ? entry : most);
}

function roofline() {
  const layers = RUN.nodes.filter(node => node.macs > 0 && busiest(node)[1] > 0);
  if (!layers.length) return;
  const node = section("roofline", "Roofline",
    "MACs of a layer per busy cycle of its busiest engine, over its MACs per byte of DRAM traffic. A layer below the roof fills the array only in part, or keeps another engine busier than the array. Larger circles decide more cycles of the run.");
  const machine = RUN.machine_parameters;
  const peak = machine.pe.rows * machine.pe.columns;
  const rate = machine.dram.bytes_per_cycle;
  const points = layers.map(layer => ({
    layer, x: layer.macs / Math.max(1, dramBytes(layer)), y: layer.macs / busiest(layer)[1],
  }));
  const ridge = peak / rate;
  const low = Math.min(ridge / 10, ...points.map(p => p.x)), high = Math.max(ridge * 10, ...points.map(p => p.x));
  const onCluster = layer => layer.engine === "tcu";
  const cluster = layers.some(onCluster) ? machine.sparse.tcus * machine.sparse.lanes : 0;
  const bottom = Math.min(peak / 1e3, ...points.map(p => p.y));
  const size = { width: 900, height: 380, left: 60, right: 20, top: 20, foot: 40 };
  const across = x => size.left + (size.width - size.left - size.right) * Math.log(x / low) / Math.log(high / low);
  const down = y => size.top + (size.height - size.top - size.foot) * Math.log(2.2 * peak / y) / Math.log(2.2 * peak / bottom);
  const svg = drawing("svg", { width: size.width, height: size.height, viewBox: `0 0 ${size.width} ${size.height}` });
  const grid = (x1, y1, x2, y2) => svg.append(drawing("line", { x1, y1, x2, y2, class: "grid" }));
  for (let power = Math.ceil(Math.log10(low)); power <= Math.log10(high); ++power)
    grid(across(10 ** power), size.top, across(10 ** power), size.height - size.foot);
  for (let power = Math.ceil(Math.log10(bottom)); power <= Math.log10(peak); ++power)
    grid(size.left, down(10 ** power), size.width - size.right, down(10 ** power));
  const roof = `${across(low)},${down(Math.max(bottom, low * rate))} ${across(ridge)},${down(peak)} ${across(high)},${down(peak)}`;
  svg.append(drawing("polyline", { points: roof, fill: "none", stroke: "var(--soft)", "stroke-width": 1.5 }));
  const label = (x, y, words, anchor = "start") => {
    const text = drawing("text", { x, y, "text-anchor": anchor });
    text.textContent = words;
    svg.append(text);
  };
  // Circles on the roof reach above it.
  label(across(high) - 4, down(peak) - 16, `array: ${whole(peak)} MACs per cycle`, "end");
  if (cluster) {
    const from = Math.max(low, cluster / rate);
    svg.append(drawing("line", { x1: across(from), y1: down(cluster), x2: across(high), y2: down(cluster),
                                 stroke: "var(--soft)", "stroke-dasharray": "5 4" }));
    label(across(high) - 4, down(cluster) - 5, `sparse cluster: ${whole(cluster)} MACs per cycle`, "end");
  }
  const start = [across(low), down(Math.max(bottom, low * rate))], end = [across(ridge), down(peak)];
  const slope = drawing("text", {
    "text-anchor": "middle", transform: `translate(${(start[0] + end[0]) / 2} ${(start[1] + end[1]) / 2}) ` +
      `rotate(${Math.atan2(end[1] - start[1], end[0] - start[0]) * 180 / Math.PI}) translate(0 -14)` });
  slope.textContent = `DRAM: ${whole(rate)} bytes per cycle`;
  svg.append(slope);
  label(size.left, 12, "MACs per cycle", "start");
  for (let power = Math.ceil(Math.log10(low)); power <= Math.log10(high); ++power)
    label(across(10 ** power), size.height - 22, decade(power), "middle");
  label(size.width / 2, size.height - 6, "MACs per byte of DRAM traffic", "middle");
  for (let power = Math.ceil(Math.log10(bottom)); power <= Math.log10(peak); ++power)
    label(size.left - 6, down(10 ** power) + 4, decade(power), "end");
  const most = Math.max(...layers.map(layer => layer.cycles), 1);
  for (const point of points) {
    const circle = drawing("circle", {
      cx: across(point.x), cy: down(point.y), r: 3 + 9 * Math.sqrt(point.layer.cycles / most),
      fill: COLOURS[onCluster(point.layer) ? "tcc" : "pe"], "fill-opacity": 0.55, stroke: "var(--back)",
    });
    circle.onmousemove = event => showTooltip(event,
      `${point.layer.name} (${point.layer.op})\n${point.y.toFixed(0)} MACs per cycle, ${point.x.toFixed(1)} per byte\n` +
      `${whole(busiest(point.layer)[1])} busy cycles of ${busiest(point.layer)[0]}, its busiest engine\n` +
      `${whole(point.layer.cycles)} cycles of the run, span ${whole(point.layer.span)}`);
    circle.onmouseleave = hideTooltip;
    circle.onclick = () => choose(point.layer.name);
    selection.listeners.push(name => circle.setAttribute("stroke", name === point.layer.name ? "var(--ink)" : "var(--back)"));
    svg.append(circle);
  }
  const legend = [["array", COLOURS.pe]];
  if (cluster) legend.push(["sparse cluster, which may exceed its line: the model's zeros count, but are skipped", COLOURS.tcc]);
  node.append(chart(svg), key(legend));
}
