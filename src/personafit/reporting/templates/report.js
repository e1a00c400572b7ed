// Browsing items. An item is its place in the index; its texts are in blocks. Several such browsers may share a page, so
// nothing made here has a fixed id.

const data = JSON.parse(document.getElementById("browser-data").textContent);
const PAGE = 100;
const byId = (id) => document.getElementById(id);
const number = (count) => count.toLocaleString("en");
const list = byId("list");
const detail = byId("detail");
const texts = new Blocks(data.blocks.texts, data.sizes.texts);
const people = new Blocks(data.blocks.people, data.sizes.people);
const asks = new Blocks(data.blocks.asks, data.sizes.asks, 10);
const tellings = new Blocks(data.blocks.told, data.sizes.told, 10);
const SLICE = 30; // milliseconds of searching until the list is drawn with what was found so far
let index = null; // columns: id, question, person, answers, gold, facets, verdicts, statuses
let search = null;
let found = [];
let shown = 0;
let current = null;

const VERDICTS = {
  all: "all",
  w: data.words.wrong,
  r: data.words.right,
  m: "tie or split by order",
  n: "no answer",
};
const AGREEMENT = {
  all: "all",
  differ: "raters disagree",
  right: `all ${data.words.right}`,
  wrong: `all ${data.words.wrong}`,
};

// -- filters -----------------------------------------------------------------------------------------------------

function fill(select, entries) {
  for (const [value, text] of entries) select.append(element("option", { value, text }));
  return select;
}

function addFilter(name, control) {
  byId("facets").append(element("label", { text: name }, [control]));
  return control;
}

fill(byId("rater"), [["", "any rater"], ...data.raters.map((name, place) => [String(place), name])]);
fill(byId("verdict"), Object.entries(VERDICTS));
// Rules do not take part in a disagreement, unless there are only rules.
const asked = data.raters.map((_, place) => place).filter((place) => !data.controls[place] || data.controls.every(Boolean));
const agreement = asked.length > 1 ? addFilter("Agreement", fill(element("select", { "data-filter": "agreement" }), Object.entries(AGREEMENT))) : null;
const statuses = data.statuses.length > 1
  ? addFilter("Status", fill(element("select", { "data-filter": "status" }), [["", "all"], ...data.statuses.map((name, place) => [String(place), name])]))
  : null;
const facetSelects = data.facets.map((facet) => {
  const values = facet.values.map((value, place) => [String(place), value]);
  return addFilter(facet.name, fill(element("select", { "data-facet": facet.name }), [["", "all"], ...values]));
});
const everybody = `people-${Math.random().toString(36).slice(2)}`;
const personInput = addFilter("Person", element("input", { type: "search", "data-filter": "person", list: everybody, placeholder: "any", autocomplete: "off" }));

function agreementOf(place) {
  const said = new Set(asked.map((rater) => index.verdicts[rater][place]));
  said.delete("n");
  if (said.size > 1) return "differ";
  return said.has("r") ? "right" : said.has("w") ? "wrong" : "none";
}

// One test per filter in use.
function tests() {
  const used = [];
  facetSelects.forEach((select, facet) => {
    const wanted = Number(select.value);
    if (select.value !== "") used.push((place) => index.facets[facet][place] === wanted);
  });
  const verdict = byId("verdict").value;
  const ofRater = (columns) => (byId("rater").value === "" ? columns : [columns[Number(byId("rater").value)]]);
  if (verdict !== "all") {
    const verdicts = ofRater(index.verdicts);
    used.push((place) => verdicts.some((letters) => letters[place] === verdict));
  }
  if (statuses && statuses.value !== "") {
    const bit = 1 << Number(statuses.value);
    const endings = ofRater(index.statuses);
    used.push((place) => endings.some((letters) => letters.charCodeAt(place) & bit));
  }
  if (agreement && agreement.value !== "all") used.push((place) => agreementOf(place) === agreement.value);
  const person = personInput.value.trim().toLowerCase();
  if (person) {
    const named = data.people.map((id) => id.toLowerCase().includes(person));
    used.push((place) => named[index.person[place]]);
  }
  return used;
}

// -- finding -----------------------------------------------------------------------------------------------------

const wait = (milliseconds) => new Promise((go) => setTimeout(go, milliseconds));
const progress = element("progress", { max: "1", "aria-hidden": "true" });

// Something is still being looked for; the words beside say what.
function working(share) {
  list.setAttribute("aria-busy", "true");
  progress.value = share;
  if (!progress.isConnected) byId("count").append(" ", progress);
}

// Tests the items from one on until all are tested or the time is up; says with which to go on.
function scan(test, place, into) {
  const until = performance.now() + SLICE;
  for (; place < data.items; place += 1) {
    if (test(place)) into.push(place);
    if (place % 8 === 7 && performance.now() > until) return place + 1;
  }
  return place;
}

let turn = 0;
async function filter() {
  turn += 1;
  const mine = turn;
  const words = wordsOf(byId("search").value);
  if (words.length) search.hurry();
  if (words.length && !search.textsRead) {
    list.setAttribute("aria-busy", "true");
    byId("count").textContent = "Reading the texts …";
    await search.readTexts();
    if (mine !== turn) return;
  }
  const used = tests();
  const fits = (replies) => {
    const all = words.length ? [...used, search.test(words, replies)] : used;
    return (place) => all.every((test) => test(place));
  };
  let again = false;
  if (words.length && !search.repliesRead) {
    const test = fits(false);
    draw(index.id.map((_, place) => place).filter(test), again, "reading the raw replies");
    again = true;
    while (!search.repliesRead) {
      working(search.share);
      await Promise.race([search.readReplies(), wait(100)]);
      if (mine !== turn) return;
    }
  }
  const all = fits(true);
  const places = [];
  let next = scan(all, 0, places);
  if (next < data.items && !again) {
    draw([...places], again, "searching the raw replies");
    again = true;
  }
  while (next < data.items) {
    working(next / data.items);
    await wait(0);
    if (mine !== turn) return;
    next = scan(all, next, places);
  }
  draw(places, again);
}

// Puts the places found into the list; where they are drawn again, some may have come, and what is being read stays.
function draw(places, again, still = "") {
  const same = again && places.length === found.length;
  const focused = list.contains(document.activeElement);
  const top = again ? list.scrollTop : 0;
  found = places;
  list.removeAttribute("aria-busy");
  const cut = data.items < data.total
    ? ` This page holds ${number(data.items)} of the run’s ${number(data.total)} items, those got wrong first.`
    : "";
  byId("count").textContent = `${number(found.length)} of ${number(data.items)} items${still ? ` so far; ${still} …` : "."}${cut}`;
  if (!same) {
    list.scrollTop = 0; // while the layout is still the old one, which costs nothing
    list.replaceChildren();
    shown = 0;
    showMore();
  }
  if (!found.length) {
    current = null;
    detail.replaceChildren(element("p", { class: "small", text: still ? "Nothing so far." : "No item fits these filters." }));
  } else if (again && found.includes(current)) mark(current);
  else show(found.includes(current) ? current : found[0]);
  if (!same && top) list.scrollTop = top;
  if (!same && focused) list.querySelector("[tabindex='0']")?.focus({ preventScroll: true });
}

// -- the list ----------------------------------------------------------------------------------------------------

function showMore() {
  const more = found.slice(shown, shown + PAGE);
  list.append(...more.map((place, step) => entry(place, shown + step)));
  shown += more.length;
}

function entry(place, order) {
  const facets = index.facets.slice(0, 2).map((column, facet) => data.facets[facet].values[column[place]]).filter(Boolean); // tier and half
  const count = (letter) => index.verdicts.filter((letters) => letters[place] === letter).length;
  const about = line(data.people[index.person[place]], ...facets, `${count("r")} ${data.words.right}, ${count("w")} ${data.words.wrong}`);
  const button = element("button", {
    type: "button", role: "option", tabindex: "-1", "aria-selected": "false", "aria-setsize": found.length, "aria-posinset": order + 1,
  }, [
    element("span", { class: "q", dir: "auto", text: index.question[place].slice(0, 300) }),
    element("bdi", { class: "about", text: about }),
  ]);
  button.addEventListener("click", (event) => {
    show(place);
    if (matchMedia("(max-width: 48rem)").matches) detail.scrollIntoView();
    if (event.detail === 0) detail.focus({ preventScroll: true }); // by the keyboard: on to the item
  });
  return button;
}

function mark(place) {
  for (const other of list.querySelectorAll("[tabindex='0']")) {
    other.tabIndex = -1;
    other.setAttribute("aria-selected", "false");
    other.removeAttribute("aria-current");
  }
  const option = list.children[found.indexOf(place)];
  option?.setAttribute("aria-selected", "true");
  option?.setAttribute("aria-current", "true");
  (option ?? list.firstElementChild).tabIndex = 0;
  return option;
}

function step(by) {
  const next = found.indexOf(current) + by;
  if (next < 0 || next >= found.length) return;
  while (next >= shown) showMore();
  show(found[next]);
  list.children[next].focus();
}

const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
list.addEventListener("keydown", (event) => {
  if (!(event.key in STEPS) || !found.length) return;
  event.preventDefault();
  const at = found.indexOf(current);
  const wanted = Math.max(0, Math.min(found.length - 1, at + STEPS[event.key]));
  if (wanted !== at) step(wanted - at);
});
list.addEventListener("scroll", () => {
  if (shown < found.length && list.scrollTop + list.clientHeight > list.scrollHeight - 600) showMore();
}, { passive: true });

// Single keys, which can be switched off: they get in the way of those who dictate.
const keys = element("input", { type: "checkbox", checked: "" });
byId("count").after(element("p", { class: "small keys" }, [
  element("label", {}, [keys, " Single keys: "]),
  ...[["/", "search"], ["j k", "next, previous item"], ["Enter", "into the item"], ["Esc", "back to the list"]].flatMap(
    ([key, what]) => [element("kbd", { text: key }), ` ${what} `],
  ),
]));
document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input:not([type=checkbox]), select, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && byId("browser").contains(event.target)) {
    if (event.target.matches("input[type=search]") && event.target.value) {
      event.target.value = "";
      filter();
    } else list.querySelector("[tabindex='0']")?.focus();
    event.preventDefault();
  } else if (typing || !keys.checked) return;
  else if (event.key === "/") {
    event.preventDefault();
    byId("search").focus();
    byId("search").select();
  } else if (event.key === "j") step(1);
  else if (event.key === "k") step(-1);
});

// -- one item ----------------------------------------------------------------------------------------------------

const letter = (place) => String.fromCharCode(65 + Number(place));
const orderName = (order) => (order === "" ? "" : [...order].map(letter).join(" then "));

function choice(label) {
  if (label === null || label === undefined) return "–";
  return label === "tie" ? "tie" : letter(label);
}

function show(place) {
  current = place;
  mark(place);
  const parts = [
    [people, index.person[place]], [asks, place], ...(data.blocks.told.length ? [[tellings, place]] : []),
    ...index.answers[place].map((text) => [texts, text]),
  ];
  if (parts.every(([blocks, at]) => blocks.here(at) !== undefined)) {
    lay(place);
    return;
  }
  detail.setAttribute("aria-busy", "true");
  Promise.all(parts.map(([blocks, at]) => blocks.get(at))).then(() => current === place && lay(place));
}

function lay(place) {
  const values = index.facets.map((column, facet) => [data.facets[facet].name, data.facets[facet].values[column[place]]]);
  const facets = values.filter(([, value]) => value).map((pair) => pair.join(": "));
  const person = data.people[index.person[place]];
  const others = element("button", { type: "button", class: "quiet", text: "All items of this person" });
  others.addEventListener("click", () => {
    personInput.value = person;
    filter();
    list.querySelector("[tabindex='0']")?.focus();
  });
  const back = element("button", { type: "button", class: "quiet back", text: "Back to the list" });
  back.addEventListener("click", () => list.querySelector("[tabindex='0']")?.focus());
  const rows = askRows(asks.here(place));
  const wanted = search.onlyInReplies(wordsOf(byId("search").value), place);
  detail.scrollTop = 0;
  detail.replaceChildren(
    back,
    element("p", { class: "id", text: line(index.id[place], ...facets) }),
    element("h3", { class: "external", dir: "auto", text: index.question[place] }),
    ...toReply(wanted),
    element("details", { class: "person", open: "" }, [
      element("summary", {}, [element("bdi", { text: line(`The person: ${person}`) })]),
      scrolling("profile", "Profile", people.here(index.person[place]) || "Nothing is known."),
      others,
    ]),
    ...told(place),
    element("h4", { text: "Answers" }),
    element("div", { class: "answers" }, index.answers[place].map((text, at) => answer(place, text, at, rows))),
    element("h4", { text: "Who chose what" }),
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Who chose what" }, [choices(place, rows)]),
    ...replies(rows, wanted),
  );
  detail.removeAttribute("aria-busy");
  highlight();
}

function scrolling(kind, name, text) {
  return element("div", { class: kind, tabindex: "0", role: "group", "aria-label": name }, [external(text)]);
}

// The columns of an item's asks as rows.
function askRows(columns) {
  return columns.rater.map((_, row) => Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[row]])));
}

function told(place) {
  return ((data.blocks.told.length && tellings.here(place)) || []).map(([view, text, status, from]) => {
    const title = line(`Told under ${data.views[view]}${status === "ok" ? "" : ` (${status})`}`, from.length ? `from ${from.join(", ")}` : "");
    return element("details", { class: "person" }, [
      element("summary", {}, [element("bdi", { text: title })]),
      scrolling("profile", "What was told", text || "Nothing was found."),
    ]);
  });
}

function answer(place, text, at, rows) {
  const gold = index.gold[place] === String(at);
  const by = new Set(rows.filter((ask) => ask.view === data.view && ask.label === String(at)).map((ask) => data.raters[ask.rater]));
  const parts = [
    element("h5", { text: `Answer ${letter(at)}${gold ? ` ★ ${data.words.gold}` : ""}` }),
    scrolling("text", `Text of answer ${letter(at)}`, texts.here(text)),
  ];
  if (by.size) parts.push(element("p", { class: "chosen-by", text: line(`Chosen under ${data.views[data.view]} by ${[...by].join(", ")}`) }));
  return element("section", { class: gold ? "answer is-gold" : "answer", "aria-label": `Answer ${letter(at)}` }, parts);
}

// A rater a row, a view a column; in a cell what was chosen in each order, its mark and word, and the lead of A.
function choices(place, rows) {
  if (!rows.length) return element("p", { class: "small", text: "Nobody was asked about this item yet." });
  const views = data.views.map((_, view) => view).filter((view) => rows.some((ask) => ask.view === view));
  const headings = ["rater", ...views.map((view) => data.views[view])];
  const head = element("thead", {}, [element("tr", {}, headings.map((text) => element("th", { scope: "col" }, [element("bdi", { text })])))]);
  const raters = [...new Set(rows.map((ask) => ask.rater))];
  const body = raters.map((rater) => element("tr", {}, [
    element("th", { scope: "row" }, [element("bdi", { text: data.raters[rater] }), ...(data.controls[rater] ? [" ", element("span", { class: "tag", text: "control" })] : [])]),
    ...views.map((view) => element("td", {}, rows.filter((ask) => ask.rater === rater && ask.view === view).map((ask) => said(place, ask)))),
  ]));
  return element("table", { class: "choices" }, [head, element("tbody", {}, body)]);
}

function said(place, ask) {
  const order = ask.order ? element("span", { class: "order", text: `${orderName(ask.order)}: ` }) : "";
  if (ask.status !== "ok") return element("div", {}, [order, `– ${ask.status}`]);
  const hit = ask.label === index.gold[place] ? `✓ ${data.words.right}` : ask.label === "tie" ? "" : `✗ ${data.words.wrong}`;
  const lead = typeof ask.value === "number" ? element("span", { class: "lead-of-a", text: ` ${Number(ask.value.toPrecision(3)).toLocaleString("en")}`, title: "lead of A" }) : "";
  return element("div", {}, [order, element("strong", { text: choice(ask.label) }), hit && ` ${hit}`, lead]);
}

// Open is the reply with a word that stands nowhere else.
function replies(rows, wanted) {
  const names = { detail: "Detail", reply: "Reply", reasoning: "Reasoning" };
  const blocks = rows.filter((ask) => SAID.some((kind) => ask[kind])).map((ask) => {
    const title = line(data.raters[ask.rater], data.views[ask.view], ...(ask.order ? [orderName(ask.order)] : []), ask.status);
    const kinds = SAID.filter((kind) => ask[kind]);
    const parts = kinds.map((kind) =>
      element("div", { class: "reply", tabindex: "0", role: "group", "aria-label": names[kind] }, [element("strong", { text: `${names[kind]}: ` }), external(ask[kind], "span")]));
    const open = kinds.some((kind) => wanted.some((word) => ask[kind].toLowerCase().includes(word)));
    return element("details", open ? { open: "" } : {}, [element("summary", {}, [element("bdi", { text: title })]), ...parts]);
  });
  return blocks.length ? [element("h4", { text: "Raw replies" }), element("div", { class: "replies" }, blocks)] : [];
}

function toReply(wanted) {
  if (!wanted.length) return [];
  const go = element("button", { type: "button", class: "quiet", text: "Found in a raw reply: go there" });
  go.addEventListener("click", () => detail.querySelector(".replies details[open] > summary")?.focus());
  return [go];
}

// The words searched for, marked without touching the texts.
function highlight() {
  if (!window.Highlight || !CSS.highlights) return;
  const ranges = [];
  const words = wordsOf(byId("search").value);
  const nodes = detail.ownerDocument.createTreeWalker(detail, NodeFilter.SHOW_TEXT);
  while (words.length && nodes.nextNode() && ranges.length < 1000) {
    const text = nodes.currentNode.data.toLowerCase();
    if (!nodes.currentNode.parentNode.closest(".external")) continue; // our own words
    if (text.length !== nodes.currentNode.data.length) continue; // a letter that changed its length: places would be off
    for (const word of words) {
      for (let at = text.indexOf(word); at >= 0 && ranges.length < 1000; at = text.indexOf(word, at + word.length)) {
        ranges.push(new StaticRange({ startContainer: nodes.currentNode, startOffset: at, endContainer: nodes.currentNode, endOffset: at + word.length }));
      }
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}

// -- beginning ---------------------------------------------------------------------------------------------------

async function begin() {
  [index] = await Blocks.decode(data.blocks.index[0]);
  search = new ItemSearch(index, data.people, { people, texts, asks });
  for (const input of [byId("search"), personInput]) input.addEventListener("input", filter);
  for (const select of document.querySelectorAll(".filters select")) select.addEventListener("change", filter);
  document.querySelector(".filters").addEventListener("submit", (event) => event.preventDefault());
  byId("search").addEventListener("focus", () => search.readReplies(), { once: true });
  search.readTexts();
  await filter();
  byId("browser").hidden = false;
  await idle();
  byId("browser").append(element("datalist", { id: everybody }, data.people.slice(0, 2000).map((value) => element("option", { value }))));
}

if (typeof DecompressionStream === "undefined") {
  byId("browser").replaceChildren(element("p", { class: "warning", text: "This browser cannot unpack the items; one from 2023 or later can." }));
  byId("browser").hidden = false;
} else begin();
