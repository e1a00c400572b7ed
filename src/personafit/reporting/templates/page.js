"use strict";
// What all pages share: elements and sortable tables. Every text from outside is written through textContent and nothing else.

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

