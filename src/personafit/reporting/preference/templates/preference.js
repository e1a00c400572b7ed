"use strict";
// Sorting tables and filtering the pairs; all texts are on the page already, and none is made into markup.

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

// -- the pairs ---------------------------------------------------------------------------------------------------

const search = document.getElementById("search");
const pairs = [...document.querySelectorAll("details.pair")];
const words = pairs.map((pair) => pair.textContent.toLowerCase());

function filter() {
  const wanted = search.value.trim().toLowerCase();
  let shown = 0;
  pairs.forEach((pair, place) => {
    pair.hidden = wanted !== "" && !words[place].includes(wanted);
    if (!pair.hidden) shown += 1;
  });
  document.getElementById("count").textContent = `${shown} of ${pairs.length} pairs`;
}

document.getElementById("filters").hidden = false;
search.addEventListener("input", filter);
filter();
