// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The planned operations as a graph, coloured by the cycles of their layers.

/// Ranks by longest path from the inputs; those of one rank in order of appearance.
function placeOps(ops) {
  const maker = new Map(ops.map((op, index) => [op.output, index]));
  const rows = [], place = [];
  ops.forEach((op, index) => {
    const sources = Object.values(op.inputs || {}).flat().filter(name => maker.has(name)).map(name => maker.get(name));
    const row = sources.length ? 1 + Math.max(...sources.map(source => place[source]?.row ?? -1)) : 0;
    rows[row] ||= [];
    place[index] = { row, column: rows[row].length, sources };
    rows[row].push(index);
  });
  return { rows, place };
}

function graph() {
  const ops = DATA.plan ? DATA.plan.ops : [];
  if (!ops.length || ops.length > 4000) return;
  const node = section("graph", "Graph", "Operations of the numeric plan from left to right; the redder, the more cycles their layer takes. Curves below are connections that skip operations.");
  const { rows, place } = placeOps(ops);
  const layers = new Map(RUN.nodes.map(layer => [layer.name, layer]));
  const most = Math.max(1, ...RUN.nodes.map(layer => layer.cycles));
  const box = { width: 168, height: 34, gapX: 30, gapY: 22 };
  const widest = Math.max(...rows.map(row => row.length));
  // Room below for the curves of connections that skip operations.
  const reach = index => Math.max(0, ...place[index].sources.map(source => place[index].row - place[source].row - 1));
  const room = Math.min(80, 14 * Math.max(...ops.map((_, index) => reach(index))));
  const width = rows.length * (box.width + box.gapX) + box.gapX;
  const inner = widest * (box.height + box.gapY) + box.gapY, height = inner + room;
  const corner = index => {
    const { row, column } = place[index];
    const top = (inner - rows[row].length * (box.height + box.gapY) + box.gapY) / 2;
    return [box.gapX + row * (box.width + box.gapX), top + column * (box.height + box.gapY)];
  };
  const svg = drawing("svg", { width, height, viewBox: `0 0 ${width} ${height}`, style: "max-width:none" });
  ops.forEach((op, index) => {
    const [x, y] = corner(index);
    for (const source of place[index].sources) {
      const [sx, sy] = corner(source);
      const skipped = place[index].row - place[source].row - 1;
      const from = [sx + box.width, sy + box.height / 2], to = [x, y + box.height / 2], half = box.gapX / 2;
      const dip = Math.min(room, 14 * skipped) + Math.max(sy, y) + box.height;
      svg.append(drawing("path", {
        d: skipped < 1 ? `M${from} C${from[0] + half} ${from[1]} ${to[0] - half} ${to[1]} ${to}`
          : `M${from} C${from[0] + half} ${from[1]} ${from[0]} ${dip} ${from[0] + box.gapX} ${dip} ` +
            `L${to[0] - box.gapX} ${dip} C${to[0]} ${dip} ${to[0] - half} ${to[1]} ${to}`,
        fill: "none", stroke: "var(--soft)", "stroke-opacity": 0.7,
      }));
    }
  });
  ops.forEach((op, index) => {
    const [x, y] = corner(index);
    const layer = layers.get(op.name);
    const share = layer ? layer.cycles / most : 0;
    const group = drawing("g", { cursor: "pointer" });
    const frame = drawing("rect", { x, y, width: box.width, height: box.height, rx: 4,
                                    fill: `color-mix(in srgb, #e15759 ${Math.round(75 * Math.sqrt(share))}%, var(--back))`, stroke: "var(--line)" });
    const title = drawing("text", { x: x + 6, y: y + 14 });
    title.textContent = op.name.length > 25 ? `…${op.name.slice(-24)}` : op.name;
    const second = drawing("text", { x: x + 6, y: y + 28, "fill-opacity": 0.75 });
    second.textContent = `${op.op}${layer ? `, ${whole(layer.cycles)} cycles` : ""}`;
    group.append(frame, title, second);
    group.onmousemove = event => showTooltip(event, `${op.name} (${op.op})\n${layer ? `${whole(layer.cycles)} cycles, span ${whole(layer.span)}` : ""}`);
    group.onmouseleave = hideTooltip;
    group.onclick = () => choose(op.name);
    selection.listeners.push(name => frame.setAttribute("stroke", name === op.name ? "var(--ink)" : "var(--line)"));
    svg.append(group);
  });
  node.append(element("div", { className: "scroll" }, svg));
}
