// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all sections share: data, numbers as text, elements, colours, selection.

const DATA = JSON.parse(document.getElementById("data").textContent);
const RUN = DATA.report;
const ENGINES = Object.keys(RUN.engines).filter(name => RUN.engines[name].instructions > 0);
const COLOURS = {
  dma0: "#4e79a7", dma1: "#6b93bd", dma2: "#8aadd0", dma3: "#a9c5e0", peload: "#b07aa1",
  pe: "#e15759", act: "#f28e2b", vec: "#59a14f", tcc: "#edc948", host: "#9c755f",
};
// Greys let the background through, so that they fit light and dark pages.
const STALLS = { drained: "#6b768326", fetch: "#8c6bb1", latency: "#76b7b2", "dram-busy": "#2f5d7c", "sb-busy": "#a8743c" };
const WAITS = ["b8", "80", "e0", "60", "ff", "4c", "9c", "70"].map(share => `#6b7683${share}`);

const whole = value => Math.round(value).toLocaleString("en-US");
const percent = share => `${(100 * share).toFixed(1)} %`;

/// A number with three digits and a unit: 1234567 bytes are 1.23 MB. Only joules have parts.
function scaled(value, unit) {
  const steps = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  if (unit === "J") steps.push([1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"], [1e-12, "p"]);
  for (const [size, prefix] of steps)
    if (Math.abs(value) >= size) return `${threeDigits(value / size)} ${prefix}${unit}`;
  return `${Number(value.toPrecision(3))} ${unit}`;
}

/// 1.23, 12.3, 123; never 1.2e+3.
const threeDigits = value => Number(value.toPrecision(3)) >= 1000 ? whole(value) : value.toPrecision(3);

function seconds(cycles, clock = RUN.clock_hz) {
  const time = cycles / clock;
  if (time >= 1) return `${time.toPrecision(4)} s`;
  return time >= 1e-3 ? `${(time * 1e3).toPrecision(4)} ms` : `${(time * 1e6).toPrecision(4)} µs`;
}

/// Round numbers from low to high, about `count` of them.
function ticks(low, high, count) {
  const rough = Math.max((high - low) / count, 1e-9), base = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(factor => factor * base).find(size => size >= rough) || 10 * base;
  const list = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) list.push(value);
  return list;
}

/// The colour of a stall: its own, or a grey for a wait for another queue.
const CAUSES = [...new Set(ENGINES.flatMap(name => Object.keys(RUN.engines[name].stall)))].sort();
const WAITED = CAUSES.filter(cause => !STALLS[cause]);
const stallColour = cause => STALLS[cause] || WAITS[Math.max(WAITED.indexOf(cause), 0) % WAITS.length];

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes))
    key in node && key !== "style" ? (node[key] = value) : node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function drawing(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

/// A section with a title, a sentence, and an entry in the navigation.
function section(id, title, sentence) {
  const node = element("section", { id }, element("h2", {}, title), element("p", {}, sentence));
  document.getElementById("main").append(node);
  document.getElementById("sections").append(element("a", { href: `#${id}` }, title));
  return node;
}

/// A drawing that scrolls where the window is narrower than its text is readable.
function chart(svg) {
  return element("div", { className: "chart" }, svg);
}

function key(entries) {
  const list = element("div", { className: "key" });
  for (const [name, colour, about] of entries)
    list.append(element("span", { title: about || "" }, element("i", { style: `background:${colour}` }), name));
  return list;
}

const tooltip = document.getElementById("tooltip");

function showTooltip(event, text) {
  tooltip.textContent = text;
  tooltip.hidden = false;
  const left = Math.min(event.clientX + 14, window.innerWidth - tooltip.offsetWidth - 8);
  const top = Math.min(event.clientY + 14, window.innerHeight - tooltip.offsetHeight - 8);
  tooltip.style.left = `${Math.max(left, 4)}px`;
  tooltip.style.top = `${Math.max(top, 4)}px`;
}

function hideTooltip() { tooltip.hidden = true; }

/// One layer may be chosen; every section shows it in its own way.
const selection = { node: "", listeners: [] };

function choose(node) {
  selection.node = selection.node === node ? "" : node;
  for (const listener of selection.listeners) listener(selection.node);
}

/// A table whose rows are objects. Columns: {title, value(row), text(row)?, cell(row)?, left?, wide?, about?}.
/// `start` is the column that sorts at first, -1 for the order of the rows.
function sortedTable(columns, rows, start, onRow) {
  const body = element("tbody");
  let order = { column: start, down: true };
  let filter = "";
  const table = element("table", {}, element("thead", {}, element("tr")), body);
  const heads = [];
  function cellOf(column, row) {
    const content = column.cell ? column.cell(row) : (column.text || (r => `${column.value(r)}`))(row);
    return element("td", { className: column.wide ? "text wide" : column.left ? "text" : "", title: column.left ? `${column.value(row)}` : "" },
                   content);
  }
  function fill() {
    const value = order.column < 0 ? () => 0 : columns[order.column].value;
    heads.forEach((head, index) => {
      head.textContent = columns[index].title + (index !== order.column ? "" : order.down ? " \u25be" : " \u25b4");
    });
    const compare = (a, b) => {
      const x = value(a), y = value(b);
      return typeof x === "string" ? x.localeCompare(y) : x - y;
    };
    const shown = rows.filter(row => !filter || columns.some(
      column => column.left && `${column.value(row)}`.toLowerCase().includes(filter)));
    shown.sort((a, b) => order.down ? compare(b, a) : compare(a, b));
    body.replaceChildren(...shown.map(row => {
      const line = element("tr", {}, ...columns.map(column => cellOf(column, row)));
      if (onRow) onRow(line, row);
      return line;
    }));
  }
  columns.forEach((column, index) => heads.push(element("th", {
    className: column.left ? "text" : "", title: `${column.about ? `${column.about}; ` : ""}click to sort`,
    onclick: () => {
      order = { column: index, down: order.column === index ? !order.down : !column.left };
      fill();
    },
  })));
  table.tHead.rows[0].append(...heads);
  const search = element("input", { placeholder: "filter by text", oninput: () => { filter = search.value.toLowerCase(); fill(); } });
  fill();
  return element("div", {}, element("div", { className: "controls" }, search), element("div", { className: "scroll" }, table));
}
