// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions over time, one row per engine. The wheel zooms, dragging moves,
// a click chooses the layer, and waits show what they waited for.

function timeline() {
  const line = DATA.timeline;
  if (!line) return;
  const node = section("timeline", "Timeline",
    "Wheel to zoom, drag to move, click an instruction to choose its layer; an arrow shows the result that an instruction waited for.");
  const rows = decodeTimeline(line);
  const canvas = element("canvas", { height: 30 * ENGINES.length + 24 });
  const back = element("button", { onclick: () => { view = [0, RUN.total_cycles]; draw(); } }, "whole run");
  const where = element("span");
  node.append(element("div", { className: "controls" }, back, where), canvas);
  let view = [0, RUN.total_cycles];
  let hovered = null;

  const height = 30;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return { cycle: view[0] + (event.clientX - box.left) / box.width * (view[1] - view[0]),
             row: Math.floor((event.clientY - box.top) / height), width: box.width };
  };

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    canvas.width = width * ratio;
    canvas.height = (height * ENGINES.length + 24) * ratio;
    canvas.style.height = `${height * ENGINES.length + 24}px`;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const scale = width / (view[1] - view[0]);
    const style = getComputedStyle(document.body);
    ENGINES.forEach((name, row) => drawRow(pen, rows[name], name, row * height, scale, width));
    pen.fillStyle = style.color;
    pen.font = "11px system-ui, sans-serif";
    ENGINES.forEach((name, row) => pen.fillText(name, 4, row * height + 11));
    for (let i = 0; i <= 5; ++i) {
      const cycle = view[0] + (view[1] - view[0]) * i / 5;
      pen.textAlign = i === 0 ? "left" : i === 5 ? "right" : "center";
      pen.fillText(whole(cycle), width * i / 5, height * ENGINES.length + 16);
    }
    pen.textAlign = "left";
    if (hovered) drawArrow(pen, scale);
    where.textContent = `${whole(view[0])} to ${whole(view[1])} of ${whole(RUN.total_cycles)} cycles`;
  }

  /// Instructions narrower than a pixel are drawn as the share of it they fill.
  function drawRow(pen, list, name, top, scale, width) {
    let pixel = -1, filled = 0;
    const flush = () => {
      if (pixel < 0) return;
      pen.globalAlpha = Math.min(1, 0.15 + filled);
      pen.fillStyle = COLOURS[name];
      pen.fillRect(pixel, top + 14, 1, height - 16);
    };
    for (let i = firstAfter(list, view[0]); i < list.length && list[i].start < view[1]; ++i) {
      const item = list[i];
      const x = (item.start - view[0]) * scale, w = item.busy * scale;
      const dim = selection.node && RUN.nodes[item.node]?.name !== selection.node;
      if (w < 1) {
        if (Math.floor(x) !== pixel) { flush(); pixel = Math.floor(x); filled = 0; }
        filled += dim ? w * 0.2 : w;
        continue;
      }
      pen.globalAlpha = dim ? 0.2 : 1;
      pen.fillStyle = COLOURS[name];
      pen.fillRect(Math.max(x, 0), top + 14, Math.min(w, width), height - 16);
      if (w > 3) {
        pen.fillStyle = "#0003";
        pen.fillRect(x + w - 1, top + 14, 1, height - 16);
      }
    }
    flush();
    pen.globalAlpha = 1;
  }

  function drawArrow(pen, scale) {
    for (const source of hovered.causes) {
      const from = line.index.get(source);
      if (!from) continue;
      const x0 = (from.complete - view[0]) * scale, y0 = ENGINES.indexOf(from.engine) * height + 22;
      const x1 = (hovered.start - view[0]) * scale, y1 = ENGINES.indexOf(hovered.engine) * height + 22;
      pen.strokeStyle = pen.fillStyle = getComputedStyle(document.body).color;
      pen.beginPath();
      pen.moveTo(x0, y0);
      pen.lineTo(x1, y1);
      pen.stroke();
      pen.beginPath();
      pen.arc(x1, y1, 3, 0, 7);
      pen.fill();
    }
  }

  function find(event) {
    const { cycle, row, width } = at(event);
    const list = rows[ENGINES[row]];
    if (!list) return null;
    const slack = (view[1] - view[0]) / width;
    for (let i = firstAfter(list, cycle - slack); i < list.length && list[i].start <= cycle + slack; ++i)
      if (list[i].start + list[i].busy >= cycle - slack) return list[i];
    return null;
  }

  canvas.addEventListener("wheel", event => {
    event.preventDefault();
    const { cycle } = at(event);
    const factor = Math.exp(event.deltaY * 0.0015);
    const span = Math.min(RUN.total_cycles, Math.max(16, (view[1] - view[0]) * factor));
    const share = (cycle - view[0]) / (view[1] - view[0]);
    const begin = Math.max(0, Math.min(cycle - span * share, RUN.total_cycles - span));
    view = [begin, begin + span];
    draw();
  }, { passive: false });
  let drag = null;
  canvas.addEventListener("mousedown", event => { drag = { x: event.clientX, view: [...view], moved: false }; });
  window.addEventListener("mouseup", () => { drag = null; });
  canvas.addEventListener("mousemove", event => {
    if (drag) {
      const span = drag.view[1] - drag.view[0];
      const shift = (drag.x - event.clientX) / canvas.clientWidth * span;
      drag.moved ||= Math.abs(drag.x - event.clientX) > 3;
      const begin = Math.max(0, Math.min(drag.view[0] + shift, RUN.total_cycles - span));
      view = [begin, begin + span];
    }
    const found = drag ? null : find(event);
    if (found !== hovered || drag) { hovered = found; draw(); }
    if (!found) return hideTooltip();
    const waits = found.waits.length ? `\nwaited: ${found.waits.join(", ")}` : "";
    showTooltip(event, `${line.opcodes[found.opcode]}  #${found.instruction}\n${RUN.nodes[found.node]?.name ?? "no layer"}\n` +
      `cycles ${whole(found.start)} to ${whole(found.start + found.busy)}, result at ${whole(found.complete)}${waits}`);
  });
  canvas.addEventListener("mouseleave", () => { hovered = null; hideTooltip(); draw(); });
  canvas.addEventListener("click", event => {
    const found = find(event);
    if (found && RUN.nodes[found.node]) choose(RUN.nodes[found.node].name);
  });
  selection.listeners.push(draw);
  window.addEventListener("resize", draw);
  draw();
}

/// The columns of the file as a list per engine, with what each waited for.
function decodeTimeline(line) {
  const rows = Object.fromEntries(ENGINES.map(name => [name, []]));
  line.index = new Map();
  let start = 0;
  line.engine.forEach((engine, i) => {
    const name = line.engines[engine];
    start += line.start[i];
    const item = { engine: name, start, busy: line.busy[i], complete: start + line.complete[i], node: line.node[i],
                   opcode: line.opcode[i], instruction: line.instruction[i], waits: [], causes: [] };
    line.index.set(item.instruction, item);
    if (rows[name]) rows[name].push(item);
  });
  for (let i = 0; i < line.sources.length; i += 2)
    line.index.get(line.sources[i])?.causes.push(line.sources[i + 1]);
  for (let i = 0; i < line.stalls.length; i += 3)
    line.index.get(line.stalls[i])?.waits.push(`${line.causes[line.stalls[i + 1]]} ${whole(line.stalls[i + 2])}`);
  return rows;
}

/// The first instruction that ends after a cycle; a queue is in order.
function firstAfter(list, cycle) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle].start + list[middle].busy < cycle) low = middle + 1;
    else high = middle;
  }
  return low;
}
