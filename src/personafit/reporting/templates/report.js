// Browsing items.

const data = JSON.parse(document.getElementById("browser-data").textContent);
const PAGE = 100;
const byId = (id) => document.getElementById(id);
const list = byId("list");
let found = [];
let shown = 0;
let current = null;

function verdictOf(share) {
  if (share === null || share === undefined) return "none";
  if (share === 1) return "right";
  return share === 0 ? "wrong" : "mixed";
}

const VERDICTS = {
  all: "all",
  wrong: data.words.wrong,
  right: data.words.right,
  mixed: "tie or split by order",
  none: "no answer",
};

function fill(select, entries) {
  for (const [value, text] of entries) select.append(element("option", { value, text }));
}

fill(byId("rater"), [["", "any rater"], ...data.raters.map((name, place) => [String(place), name])]);
fill(byId("verdict"), Object.entries(VERDICTS));
const facetSelects = data.facets.map((facet) => {
  const select = element("select", { "data-facet": facet.name });
  fill(select, [["", "all"], ...facet.values.map((value) => [value, value])]);
  byId("facets").append(element("label", { text: facet.name }, [select]));
  return select;
});

// Texts in lower case, made on the first search: most readers never search.
let lowered = null;
function lower() {
  if (lowered === null) {
    lowered = {
      texts: data.texts.map((text) => text.toLowerCase()),
      people: new Map(Object.entries(data.people).map(([id, text]) => [id, `${id} ${text}`.toLowerCase()])),
      items: data.items.map((item) => `${item.id} ${item.question}`.toLowerCase()),
    };
  }
  return lowered;
}

function matcher(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return () => true;
  const { texts, people, items } = lower();
  const hits = words.map((word) => ({
    word,
    texts: texts.map((text) => text.includes(word)),
    people: new Map([...people].map(([id, text]) => [id, text.includes(word)])),
  }));
  return (item, place) =>
    hits.every(
      (hit) =>
        items[place].includes(hit.word) || hit.people.get(item.person) || item.answers.some((text) => hit.texts[text]),
    );
}

function filter() {
  const matches = matcher(byId("search").value);
  const verdict = byId("verdict").value;
  const rater = byId("rater").value;
  const facets = facetSelects.map((select) => select.value);
  found = data.items.filter((item, place) => {
    if (facets.some((value, facet) => value !== "" && item.facets[facet] !== value)) return false;
    if (verdict !== "all") {
      const shares = rater === "" ? item.verdicts : [item.verdicts[Number(rater)]];
      if (!shares.some((share) => verdictOf(share) === verdict)) return false;
    }
    return matches(item, place);
  });
  list.replaceChildren();
  list.scrollTop = 0;
  shown = 0;
  showMore();
  const cut = data.items.length < data.total
    ? ` This page holds ${data.items.length.toLocaleString("en")} of the run’s ${data.total.toLocaleString("en")} items, those got wrong first.`
    : "";
  byId("count").textContent = `${found.length.toLocaleString("en")} of ${data.items.length.toLocaleString("en")} items.${cut}`;
  if (!found.length) {
    current = null;
    byId("detail").replaceChildren(element("p", { class: "small", text: "No item fits these filters." }));
  } else if (!found.includes(current)) show(found[0]);
}

function showMore() {
  list.querySelector(".more")?.remove();
  for (const item of found.slice(shown, shown + PAGE)) list.append(entry(item));
  shown = Math.min(shown + PAGE, found.length);
  if (shown < found.length) {
    const more = element("button", { type: "button", class: "more", text: `${(found.length - shown).toLocaleString("en")} more` });
    more.addEventListener("click", () => {
      const next = shown;
      showMore();
      list.children[next].focus();
    });
    list.append(more);
  }
}

function entry(item) {
  const facets = item.facets.slice(0, 2).filter(Boolean); // tier and half, where there are any
  const counts = { right: 0, wrong: 0 };
  for (const share of item.verdicts) if (verdictOf(share) in counts) counts[verdictOf(share)] += 1;
  const about = line(item.person, ...facets, `${counts.right} ${data.words.right}, ${counts.wrong} ${data.words.wrong}`);
  const button = element("button", { type: "button" }, [
    element("span", { class: "q", dir: "auto", text: item.question.slice(0, 300) }),
    element("bdi", { class: "about", text: about }),
  ]);
  if (item === current) button.setAttribute("aria-current", "true");
  button.addEventListener("click", () => {
    show(item, button);
    if (matchMedia("(max-width: 48rem)").matches) byId("detail").scrollIntoView();
  });
  return button;
}

list.addEventListener("keydown", (event) => {
  const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
  const next = step && document.activeElement[step];
  if (!next) return;
  event.preventDefault();
  next.focus();
  if (!next.classList.contains("more")) next.click();
});

// -- one item ----------------------------------------------------------------------------------------------------

const letter = (place) => String.fromCharCode(65 + Number(place));
const orderName = (order) => (order === "" ? "any" : [...order].map(letter).join(" then "));

function choice(label) {
  if (label === null || label === undefined) return "–";
  return label === "tie" ? "tie" : letter(label);
}

function show(item, button) {
  current = item;
  for (const other of list.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
  (button ?? list.children[found.indexOf(item)])?.setAttribute("aria-current", "true");
  const facets = item.facets.map((value, place) => value && `${data.facets[place].name}: ${value}`).filter(Boolean);
  const profile = element("div", { class: "profile", tabindex: "0", "aria-label": "Profile" }, [
    external(data.people[item.person] || "Nothing is known."),
  ]);
  byId("detail").replaceChildren(
    element("p", { class: "id", text: line(item.id, ...facets) }),
    element("h3", { class: "external", dir: "auto", text: item.question }),
    element("details", { class: "person", open: "" }, [
      element("summary", {}, [element("bdi", { text: line(`The person: ${item.person}`) })]),
      profile,
    ]),
    ...told(item),
    element("h4", { text: "Answers" }),
    element("div", { class: "answers" }, item.answers.map((text, place) => answer(item, text, place))),
    element("h4", { text: "Who chose what" }),
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Who chose what" }, [choices(item)]),
    ...replies(item),
  );
  byId("detail").scrollTop = 0;
}

function told(item) {
  return (item.told || []).map(([view, text, status, from]) => {
    const title = line(`Told under ${data.views[view]}${status === "ok" ? "" : ` (${status})`}`, from.length ? `from ${from.join(", ")}` : "");
    const body = element("div", { class: "profile", tabindex: "0", "aria-label": "What was told" }, [external(text || "Nothing was found.")]);
    return element("details", { class: "person" }, [element("summary", {}, [element("bdi", { text: title })]), body]);
  });
}

function answer(item, text, place) {
  const gold = item.gold === String(place);
  const by = new Set(item.asks.filter((ask) => ask[1] === data.view && ask[5] === String(place)).map((ask) => data.raters[ask[0]]));
  const parts = [
    element("h5", { text: `Answer ${letter(place)}${gold ? ` ★ ${data.words.gold}` : ""}` }),
    element("div", { class: "external", dir: "auto", tabindex: "0", text: data.texts[text] }),
  ];
  if (by.size) parts.push(element("p", { class: "chosen-by", text: line(`Chosen under ${data.views[data.view]} by ${[...by].join(", ")}`) }));
  return element("section", { class: gold ? "answer is-gold" : "answer", "aria-label": `Answer ${letter(place)}` }, parts);
}

function choices(item) {
  const headings = ["rater", "view", "order shown", "chose", "verdict", "lead of A"];
  const head = element("thead", {}, [element("tr", {}, headings.map((text) => element("th", { scope: "col", text })))]);
  const rows = item.asks.map(([rater, view, order, , status, label, value]) => {
    const hit = label === item.gold ? data.words.right : label === "tie" ? "tie" : data.words.wrong;
    return element("tr", {}, [
      element("th", { scope: "row" }, [element("bdi", { text: data.raters[rater] })]),
      element("td", {}, [element("bdi", { text: data.views[view] })]),
      element("td", { text: orderName(order) }),
      element("td", { text: choice(label) }),
      element("td", { text: status === "ok" ? hit : status }),
      element("td", { text: typeof value === "number" ? Number(value.toPrecision(3)).toLocaleString("en") : "" }),
    ]);
  });
  if (!rows.length) return element("p", { class: "small", text: "Nobody was asked about this item yet." });
  return element("table", {}, [head, element("tbody", {}, rows)]);
}

function replies(item) {
  const kinds = ["Detail", "Reply", "Reasoning"];
  const blocks = item.asks.filter((ask) => ask.length > 7).map((ask) => {
    const [rater, view, order, , status] = ask;
    const title = `${data.raters[rater]}, ${data.views[view]}, ${orderName(order)}: ${status}`;
    const texts = kinds.flatMap((kind, place) => (ask[7 + place] ? [element("div", { class: "reply", tabindex: "0", "aria-label": kind }, [
      element("strong", { text: `${kind}: ` }), external(ask[7 + place], "span"),
    ])] : []));
    return element("details", {}, [element("summary", {}, [element("bdi", { text: line(title) })]), ...texts]);
  });
  return blocks.length ? [element("h4", { text: "Raw replies" }), ...blocks] : [];
}

byId("search").addEventListener("input", filter);
for (const select of document.querySelectorAll(".filters select")) select.addEventListener("change", filter);
document.querySelector(".filters").addEventListener("submit", (event) => event.preventDefault());
byId("browser").hidden = false;
filter();
