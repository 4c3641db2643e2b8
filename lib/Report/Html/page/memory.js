// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where tensors lie over time: one box per tensor, time across, address down.

function memory() {
  const places = DATA.placements.filter(place => place.end > place.start);
  if (!places.length) return;
  const node = section("memory", "Memory",
    "Planned tensors from the start of their layer to the end of their last reader. Weights and tiles that only pass through are not shown.");
  const machine = RUN.machine_parameters;
  for (const [memory, title, size] of [
    ["sb", "state buffer, bytes of a partition", machine.sb.bytes_per_partition],
    ["dram", "DRAM, bytes", Math.max(1, ...places.filter(p => p.memory === "dram").map(p => p.at + p.bytes))],
  ]) {
    const own = places.filter(place => place.memory === memory);
    if (!own.length) continue;
    const width = 1200, height = 220, left = 70;
    const svg = drawing("svg", { width, height: height + 24, viewBox: `0 0 ${width} ${height + 24}` });
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
    for (const byte of [low, (low + high) / 2, high]) {
      const text = drawing("text", { x: left - 6, y: down(byte) + 4, "text-anchor": "end" });
      text.textContent = whole(byte);
      svg.append(text);
    }
    const most = memory === "sb" ? `; ${percent(Math.max(...own.map(p => p.at + p.bytes)) / size)} of a partition used` : "";
    node.append(element("p", {}, `${title}${most}`), chart(svg));
  }
}
