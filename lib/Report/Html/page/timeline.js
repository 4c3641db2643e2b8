// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions over time, one row per engine. The wheel zooms, dragging moves,
// a click chooses the layer, and waits show what they waited for.

function timeline() {
  const line = DATA.timeline;
  if (!line) return;
  const node = section("timeline", "Timeline",
    "Instructions of each queue; the thin line below them is what the queue stalled for, in the colours above. Wheel to zoom, drag to move, click an instruction to mark its layer; an arrow leads from the result that an instruction waited for.");
  const rows = line.rows;
  const canvas = element("canvas");
  const back = element("button", { onclick: () => { view = [0, RUN.total_cycles]; draw(); } }, "whole run");
  const where = element("span");
  node.append(element("div", { className: "controls" }, back, where), canvas);
  let view = [0, RUN.total_cycles];
  let hovered = null;

  const height = 27, left = 56, top = 4;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    const width = box.width - left;
    return { cycle: view[0] + (event.clientX - box.left - left) / width * (view[1] - view[0]),
             row: Math.floor((event.clientY - box.top - top) / height), width };
  };

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    const full = canvas.clientWidth, width = full - left, foot = top + height * ENGINES.length;
    canvas.width = full * ratio;
    canvas.height = (foot + 22) * ratio;
    canvas.style.height = `${foot + 22}px`;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const scale = width / (view[1] - view[0]);
    const style = getComputedStyle(document.body);
    const ink = style.color, faint = style.getPropertyValue("--line");
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "center";
    for (const cycle of ticks(view[0], view[1], Math.max(3, width / 150))) {
      const x = left + (cycle - view[0]) * scale;
      pen.fillStyle = faint;
      pen.fillRect(x, top, 1, foot - top);
      pen.fillStyle = ink;
      if (x < full - 80) pen.fillText(whole(cycle), Math.max(x, left + 8), foot + 15);
    }
    pen.textAlign = "right";
    pen.fillText("cycles", full - 4, foot + 15);
    pen.textAlign = "left";
    ENGINES.forEach((name, row) => pen.fillText(name, 5, top + row * height + 16));
    pen.save();
    pen.beginPath();
    pen.rect(left, 0, width, foot);
    pen.clip();
    pen.translate(left, 0);
    ENGINES.forEach((name, row) => {
      drawRow(pen, rows[name], name, top + row * height, scale, width);
      drawStalls(pen, line.stalled[name], top + row * height + 21, scale);
    });
    if (hovered) drawArrow(pen, scale);
    pen.restore();
    where.textContent = `${whole(view[0])} to ${whole(view[1])} of ${whole(RUN.total_cycles)} cycles`;
  }

  /// Instructions narrower than a pixel are drawn as the share of it they fill.
  function drawRow(pen, list, name, top, scale, width) {
    let pixel = -1, filled = 0;
    const flush = () => {
      if (pixel < 0) return;
      pen.globalAlpha = Math.min(1, 0.15 + filled);
      pen.fillStyle = COLOURS[name];
      pen.fillRect(pixel, top + 3, 1, 17);
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
      pen.fillRect(Math.max(x, 0), top + 3, Math.min(w, width), 17);
      if (w > 3) {
        pen.fillStyle = "#0003";
        pen.fillRect(x + w - 1, top + 3, 1, 17);
      }
    }
    flush();
    pen.globalAlpha = 1;
  }

  /// A pixel has the colour of what stalled its queue for most of it.
  function drawStalls(pen, list, top, scale) {
    let pixel = -1, most = 0, colour = "";
    const flush = () => {
      if (pixel < 0 || most * scale < 0.3) return;
      pen.fillStyle = colour;
      pen.fillRect(pixel, top, 1, 3);
    };
    for (let i = firstAfter(list, view[0]); i < list.length && list[i].start < view[1]; ++i) {
      const stall = list[i];
      const x = (stall.start - view[0]) * scale, w = stall.busy * scale;
      if (w >= 1) {
        pen.fillStyle = stallColour(stall.cause);
        pen.fillRect(x, top, w, 3);
        continue;
      }
      if (Math.floor(x) !== pixel) { flush(); pixel = Math.floor(x); most = 0; }
      if (stall.busy > most) { most = stall.busy; colour = stallColour(stall.cause); }
    }
    flush();
  }

  function drawArrow(pen, scale) {
    for (const source of hovered.causes) {
      const from = line.index.get(source);
      if (!from) continue;
      const x0 = (from.complete - view[0]) * scale, y0 = top + ENGINES.indexOf(from.engine) * height + 12;
      const x1 = (hovered.start - view[0]) * scale, y1 = top + ENGINES.indexOf(hovered.engine) * height + 12;
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
      const shift = (drag.x - event.clientX) / (canvas.clientWidth - left) * span;
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

/// The columns of the file as a list per engine, with what each waited for, and
/// the stalls as a list.
function decodeTimeline() {
  const line = DATA.timeline;
  if (!line) return;
  const rows = line.rows = Object.fromEntries(ENGINES.map(name => [name, []]));
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
  line.stalled = Object.fromEntries(ENGINES.map(name => [name, []]));
  const columns = line.stalls;
  let begin = 0;
  for (let i = 0; i < columns.length; i += 6) {
    begin += columns[i + 4];
    const engine = line.engines[columns[i]], list = rows[engine];
    if (!list) continue;
    const cause = line.causes[columns[i + 3]], busy = columns[i + 5];
    line.stalled[engine].push({ node: columns[i + 1], cause, busy, start: begin });
    // A wait at a semaphore is shown with the instruction after it.
    const item = line.index.get(columns[i + 2]) || list[firstAfter(list, begin + busy)];
    if (item) item.waits.push(`${cause} ${whole(busy)}`);
  }
  for (const list of Object.values(line.stalled)) list.sort((a, b) => a.start - b.start);
}

/// The first instruction, or stall, that ends after a cycle; a queue is in order.
function firstAfter(list, cycle) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle].start + list[middle].busy < cycle) low = middle + 1;
    else high = middle;
  }
  return low;
}
