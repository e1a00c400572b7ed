"use strict";
// What all pages share: elements, sortable tables, blocks of texts. Every text from outside is written through textContent and nothing else.

function element(tag, options = {}, children = []) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "text") node.textContent = value;
    else if (name === "class") node.className = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

// Text from outside: its own direction, its own line breaks.
function external(text, tag = "div") {
  return element(tag, { class: "external", dir: "auto", text });
}

// A line put together from several texts: none of them may turn the direction of the rest.
function line(...parts) {
  return parts.join(" · ").replace(/[\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

// -- sortable tables ---------------------------------------------------------------------------------------------

function sortTable(table, column, heading) {
  const direction = heading.getAttribute("aria-sort") === "descending" ? "ascending" : "descending";
  for (const other of table.querySelectorAll("thead th")) other.removeAttribute("aria-sort");
  const textual = heading.classList.contains("text");
  const up = textual ? direction === "descending" : direction === "ascending"; // names start with A, numbers with the best
  heading.setAttribute("aria-sort", up ? "ascending" : "descending");
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => [row.cells[column].dataset.sort, row]);
  keyed.sort(([a], [b]) => {
    if (a === "" || b === "") return (a === "") - (b === ""); // what has no number comes last either way
    const difference = textual ? a.localeCompare(b) : Number(a) - Number(b);
    return up ? difference : -difference;
  });
  body.append(...keyed.map(([, row]) => row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  table.querySelectorAll("thead th").forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => sortTable(table, column, heading));
  });
}

// -- blocks of texts ---------------------------------------------------------------------------------------------

// Values in blocks as `browse.py` makes them, decoded when first asked for; of large ones only the last few are held.
class Blocks {
  constructor(blocks, size, held = Infinity) {
    Object.assign(this, { blocks, size, held, decoded: new Map(), coming: new Map() });
  }

  // The value if it is here already; nothing otherwise.
  here(place) {
    return this.decoded.get(Math.floor(place / this.size))?.[place % this.size];
  }

  async get(place) {
    return (await this.block(Math.floor(place / this.size)))[place % this.size];
  }

  async block(number) {
    if (this.decoded.has(number)) return this.decoded.get(number);
    if (!this.coming.has(number)) this.coming.set(number, Blocks.decode(this.blocks[number]));
    const values = await this.coming.get(number);
    this.coming.delete(number);
    this.decoded.set(number, values);
    if (this.decoded.size > this.held) this.decoded.delete(this.decoded.keys().next().value);
    return values;
  }

  static async decode(block) {
    const text = atob(block);
    const bytes = new Uint8Array(text.length);
    for (let place = 0; place < text.length; place += 1) bytes[place] = text.charCodeAt(place);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Response(stream).json();
  }
}

// -- printing ----------------------------------------------------------------------------------------------------

// What is folded away on the screen but belongs on paper.
const folded = () => [...document.querySelectorAll("details[data-print]:not([open])")];
let unfolded = [];
addEventListener("beforeprint", () => {
  unfolded = folded();
  for (const fold of unfolded) fold.open = true;
});
addEventListener("afterprint", () => {
  for (const fold of unfolded) fold.open = false;
});
