// Browsing items: the data and what is shown of them. An item is its place in the index; its texts are in blocks. The files
// browser-*.js follow each other in one script; several such browsers may share a page, so nothing made in them has a fixed id.

const data = JSON.parse(document.getElementById("browser-data").textContent);
const PAGE = 100;
const byId = (id) => document.getElementById(id);
const number = (count) => count.toLocaleString("en");
const list = byId("list");
const detail = byId("detail");
const texts = new Blocks(data.blocks.texts, data.sizes.texts);
const people = new Blocks(data.blocks.people, data.sizes.people);
const asks = new Blocks(data.blocks.asks, data.sizes.asks, 10);
const marks = new Blocks(data.blocks.marks ?? [], data.sizes.marks, 10);
const transcripts = new Blocks(data.blocks.turns ?? [], data.sizes.turns, 10);
const tellings = new Blocks(data.blocks.told, data.sizes.told, 10);
const SLICE = 30; // milliseconds of searching until the list is drawn with what was found so far
let index = null; // columns: id, question, person, answers, gold, facets, verdicts, statuses; texts and about where items have parts
let search = null;
let found = [];
let shown = 0;
let current = null;
