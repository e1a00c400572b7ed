// Looking pairs up.

const data = JSON.parse(document.getElementById("browser-data").textContent);
const byId = (id) => document.getElementById(id);
const list = byId("list");
const fillList = fillsList(list, button);
const lineName = (place) => {
  const { name, view } = data.lines[place];
  return view === "none" ? name : `${name}, ${view}`;
};
let found = [];
let current = null;

const VERDICTS = {
  all: "all pairs",
  relevant: `relevant by ${data.gold}`,
  missed: "relevant, but not picked",
  over: "picked, but not relevant",
  none: "no answer",
};

// Whether what one rater said of a pair is what is looked for.
function fits(pair, said, verdict) {
  if (verdict === "all") return true;
  if (verdict === "relevant") return pair.gold === true;
  const yes = said ? said[0] : null;
  if (verdict === "none") return yes === null || yes === undefined;
  return verdict === "missed" ? pair.gold === true && yes === false : pair.gold === false && yes === true;
}

function fill(select, entries) {
  for (const [value, text] of entries) select.append(element("option", { value, text }));
}

fill(byId("rater"), [["", "any rater"], ...data.lines.map((_, place) => [String(place), lineName(place)])]);
fill(byId("verdict"), Object.entries(VERDICTS));

let lowered = null;
function matches(words, one, pair) {
  if (!words.length) return true;
  lowered ??= data.texts.map((text) => text.toLowerCase());
  const where = [one.person.toLowerCase(), lowered[one.prompt], lowered[pair.text], pair.reason === null ? "" : lowered[pair.reason], replied(one), replied(pair)];
  return words.every((word) => where.some((text) => text.includes(word)));
}

// What was replied about a list or a pair, in lower case.
function replied(asked) {
  asked.replied ??= asked.replies.flatMap(([, , , ...said]) => said.filter(Boolean)).join("\n").toLowerCase();
  return asked.replied;
}

function filter() {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const verdict = byId("verdict").value;
  const rater = byId("rater").value;
  found = [];
  let pairs = 0;
  for (const one of data.lists) {
    const kept = one.pairs.filter((pair) => {
      const said = rater === "" ? data.lines.map((_, place) => pair.said[place]) : [pair.said[Number(rater)]];
      return (said.some((answer) => fits(pair, answer, verdict)) || verdict === "all") && matches(words, one, pair);
    });
    pairs += kept.length;
    if (kept.length) found.push({ one, kept });
  }
  fillList(found);
  const cut = data.pairs < data.total ? ` This page holds ${data.pairs.toLocaleString("en")} of the run’s ${data.total.toLocaleString("en")} pairs.` : "";
  byId("count").textContent = `${pairs.toLocaleString("en")} pairs in ${found.length.toLocaleString("en")} lists.${cut}`;
  const same = found.find((entry) => entry.one === current);
  if (!found.length) {
    current = null;
    byId("detail").replaceChildren(element("p", { class: "small", text: "No pair fits these filters." }));
  } else show(same ?? found[0]);
}

function button(entry) {
  const relevant = entry.one.pairs.filter((pair) => pair.gold).length;
  const about = line(entry.one.person, `${entry.kept.length} of ${entry.one.pairs.length} attributes`, `${relevant} relevant`);
  const node = element("button", { type: "button" }, [
    element("span", { class: "q", dir: "auto", text: data.texts[entry.one.prompt].slice(0, 300) }),
    element("bdi", { class: "about", text: about }),
  ]);
  node.addEventListener("click", () => {
    show(entry, node);
    if (matchMedia("(max-width: 48rem)").matches) byId("detail").scrollIntoView();
  });
  return node;
}

// -- one list ----------------------------------------------------------------------------------------------------

function show(entry, node) {
  current = entry.one;
  for (const other of list.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
  (node ?? list.children[found.indexOf(entry)])?.setAttribute("aria-current", "true");
  const hidden = entry.one.pairs.length - entry.kept.length;
  byId("detail").replaceChildren(
    element("p", { class: "id", text: line(`What is known of ${entry.one.person}`, `${entry.one.pairs.length} attributes`) }),
    element("h3", { class: "external", dir: "auto", text: data.texts[entry.one.prompt] }),
    element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Who picked what" }, [table(entry.kept)]),
    ...(hidden ? [element("p", { class: "small", text: `${hidden} more attributes do not fit the filters.` })] : []),
    ...replies(entry),
  );
  byId("detail").scrollTop = 0;
}

function mark(answer, gold) {
  if (!answer) return element("td", { text: "–" });
  const [yes, score, more] = answer;
  const word = yes === true ? "yes" : yes === false ? "no" : "";
  const text = [word, more && more !== word ? `(${more})` : ""].filter(Boolean).join(" ") || "–";
  const differs = gold !== null && yes !== null && yes !== gold;
  const node = element("td", { class: differs ? "mark differs" : "mark", text: differs ? `${text} ≠` : text });
  if (typeof score === "number") node.title = `score ${score}`;
  return node;
}

function table(pairs) {
  const headings = ["attribute", data.gold, ...data.lines.map((_, place) => lineName(place))];
  const head = element("thead", {}, [element("tr", {}, headings.map((text) => element("th", { scope: "col" }, [element("bdi", { text })])))]);
  const rows = pairs.map((pair) => {
    const about = [element("span", { class: "external", dir: "auto", text: data.texts[pair.text] || "(empty)" })];
    if (pair.reason !== null) about.push(element("span", { class: "pair-reason external", dir: "auto", text: `because: ${data.texts[pair.reason]}` }));
    const gold = pair.gold === null ? "–" : pair.gold ? "yes" : "no";
    return element("tr", {}, [
      element("th", { scope: "row" }, about),
      element("td", { class: "mark", text: gold }),
      ...data.lines.map((_, place) => mark(pair.said[place], pair.gold)),
    ]);
  });
  return element("table", { class: "picked" }, [head, element("tbody", {}, rows)]);
}

function replies(entry) {
  const kinds = ["Detail", "Reply", "Reasoning"];
  const asks = [
    ...entry.one.replies.map((ask) => ["the list", ask]),
    ...entry.kept.flatMap((pair) => pair.replies.map((ask) => [data.texts[pair.text].slice(0, 80), ask])),
  ];
  const blocks = asks.map(([about, [place, part, status, ...said]]) => {
    const title = line(lineName(place), part ? `${about}, part ${part}` : about, status);
    const texts = kinds.flatMap((kind, number) => (said[number] ? [element("div", { class: "reply", tabindex: "0", "aria-label": kind }, [
      element("strong", { text: `${kind}: ` }), element("span", { class: "external", dir: "auto", text: said[number] }),
    ])] : []));
    return element("details", {}, [element("summary", {}, [element("bdi", { text: title })]), ...texts]);
  });
  return blocks.length ? [element("h4", { text: "Raw replies" }), ...blocks] : [];
}

byId("search").addEventListener("input", filter);
for (const select of document.querySelectorAll(".filters select")) select.addEventListener("change", filter);
document.querySelector(".filters").addEventListener("submit", (event) => event.preventDefault());
byId("browser").hidden = false;
filter();
