// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where tensors lie over time: one box per tensor, time across, address down.

function memory() {
  const places = DATA.placements.filter(place => place.end > place.start);
  if (!places.length) return;
  const node = section("memory", "Memory",
    "Each box is a tensor: across, from the start of its layer to the end of its last reader; down, its addresses. Weights and tiles that only pass through are not shown.");
  const machine = RUN.machine_parameters;
  for (const [memory, title, size] of [
    ["sb", "State buffer: address in each partition, in bytes", machine.sb.bytes_per_partition],
    ["dram", "DRAM: address in bytes", Math.max(1, ...places.filter(p => p.memory === "dram").map(p => p.at + p.bytes))],
  ]) {
    const own = places.filter(place => place.memory === memory);
    if (!own.length) continue;
    const width = 1200, height = own.length < 4 ? 90 : 240, left = 70;
    const svg = drawing("svg", { width, height: height + 36, viewBox: `0 0 ${width} ${height + 36}` });
    const label = (x, y, words, anchor = "middle") => {
      const text = drawing("text", { x, y, "text-anchor": anchor, "pointer-events": "none" });
      text.textContent = words;
      svg.append(text);
    };
    const high = Math.min(size, Math.max(...own.map(place => place.at + place.bytes)) * 1.05);
    const low = memory === "dram" ? Math.min(...own.map(place => place.at)) : 0;
    const across = cycle => left + (width - left - 10) * cycle / RUN.total_cycles;
    const down = byte => 10 + (height - 10) * (byte - low) / Math.max(high - low, 1);
    own.forEach((place, index) => {
      const box = drawing("rect", {
        x: across(place.start), y: down(place.at), width: Math.max(1, across(place.end) - across(place.start)),
        height: Math.max(1.5, down(place.at + place.bytes) - down(place.at)),
        fill: `hsl(${index * 137 % 360} 50% 55%)`, "fill-opacity": 0.7, stroke: "var(--back)",
      });
      box.onmousemove = event => showTooltip(event, `${place.name}\nat ${whole(place.at)}, ${whole(place.bytes)} bytes` +
        `${memory === "sb" ? " of a partition" : ""}\ncycles ${whole(place.start)} to ${whole(place.end)}`);
      box.onmouseleave = hideTooltip;
      box.onclick = () => choose(place.node);
      svg.append(box);
    });
    for (const byte of own.length < 4 ? [low, high] : ticks(low, high, 5)) label(left - 6, down(byte) + 4, whole(byte), "end");
    for (const cycle of ticks(0, RUN.total_cycles, 8)) {
      if (across(cycle) > width - 50) continue;
      svg.prepend(drawing("line", { x1: across(cycle), y1: 10, x2: across(cycle), y2: height + 6, class: "grid" }));
      label(across(cycle), height + 20, whole(cycle));
    }
    label(width - 10, height + 20, "cycles", "end");
    const labels = [];
    for (const place of own) {
      const wide = across(place.end) - across(place.start), tall = down(place.at + place.bytes) - down(place.at);
      const most = Math.floor((wide - 8) / 6.5);
      const words = place.name.length > most ? `${place.name.slice(0, most - 1)}\u2026` : place.name;
      const box = [across(place.start), down(place.at), across(place.start) + 8 + 6.5 * words.length, down(place.at) + 14];
      // Lives overlap, names must not.
      if (tall < 14 || most < Math.min(8, place.name.length) || labels.some(l => l[0] < box[2] && box[0] < l[2] && l[1] < box[3] && box[1] < l[3])) continue;
      labels.push(box);
      label(box[0] + 4, box[1] + 12, words, "start");
    }
    const most = memory === "sb" ? `; ${percent(Math.max(...own.map(p => p.at + p.bytes)) / size)} of a partition used` : "";
    node.append(element("p", {}, `${title}${most}`), chart(svg));
  }
}
