// Listing dialogues and reading transcripts.

const data = JSON.parse(document.getElementById("viewer-data").textContent);
const byId = (id) => document.getElementById(id);
const list = byId("list");
const fillList = fillsList(list, entry);
let found = [];
let current = null;

const JUDGED = {
  all: ["all", () => true],
  undone: ["task not done", (one) => mean(one, "completion") !== null && mean(one, "completion") < 0.5],
  done: ["task done", (one) => mean(one, "completion") >= 0.5],
  low: ["personalization 2 or less", (one) => mean(one, "personalization") !== null && mean(one, "personalization") <= 2],
  high: ["personalization 3 or more", (one) => mean(one, "personalization") >= 3],
  split: ["done, personalization 2 or less", (one) => mean(one, "completion") >= 0.5 && mean(one, "personalization") <= 2],
  none: ["no mark", (one) => mean(one, "personalization") === null],
};

function mean(one, question) {
  const marks = one.scores.filter((score) => score[2] === question && score[3] !== null).map((score) => score[3]);
  return marks.length ? marks.reduce((sum, mark) => sum + mark, 0) / marks.length : null;
}

function fill(id, entries) {
  for (const [value, text] of entries) byId(id).append(element("option", { value, text }));
}

const named = (names) => [["", "all"], ...names.map((name) => [name, name])];
fill("system", named(data.systems));
fill("given", named(data.givens));
fill("kind", named(["SD", "MD"]));
fill("stop", named(data.stops));
fill("mark", [["", "all"], ...Object.entries(data.marks), ["fault", "a fault of the simulated user"]]);
fill("judged", Object.entries(JUDGED).map(([value, [text]]) => [value, text]));
for (const [kind, text] of Object.entries(data.marks)) {
  byId("legend").append(element("li", {}, [element("mark", { class: `k-${kind}`, text })]));
}

// Texts in lower case, made on the first search: most readers never search.
let lowered = null;
function lower() {
  lowered ??= data.dialogues.map((one) =>
    [one.id, one.person, one.task, one.domain, one.intent, ...one.turns.map((turn) => turn.text), ...one.replies.flatMap(replied)].join("\n").toLowerCase(),
  );
  return lowered;
}

const replied = ([, , , , , detail, reply]) => [detail, reply].filter(Boolean);

function filter() {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const value = Object.fromEntries(["system", "given", "kind", "stop", "mark", "judged"].map((id) => [id, byId(id).value]));
  const fits = JUDGED[value.judged][1];
  found = data.dialogues.filter((one, place) => {
    for (const name of ["system", "given", "kind", "stop"]) if (value[name] !== "" && one[name] !== value[name]) return false;
    if (value.mark === "fault" && !one.faults.length) return false;
    if (value.mark !== "" && value.mark !== "fault" && !one.turns.some((turn) => turn.marks.some((mark) => mark[2] === value.mark))) return false;
    if (!fits(one)) return false;
    return words.every((word) => lower()[place].includes(word));
  });
  fillList(found);
  const cut = data.dialogues.length < data.total
    ? ` This page holds ${data.dialogues.length.toLocaleString("en")} of the run’s ${data.total.toLocaleString("en")} dialogues, those in which something was counted against somebody first; the others are in the store.`
    : "";
  byId("count").textContent = `${found.length.toLocaleString("en")} of ${data.dialogues.length.toLocaleString("en")} dialogues.${cut}`;
  if (!found.length) {
    current = null;
    byId("detail").replaceChildren(element("p", { class: "small", text: "No dialogue fits these filters." }));
  } else if (!found.includes(current)) show(found[0]);
}

const short = (value) => (value === null ? "–" : Number(value.toFixed(2)).toString());

function entry(one) {
  const done = mean(one, "completion");
  const verdict = done === null ? "not judged" : done >= 0.5 ? "done" : "not done";
  const button = element("button", { type: "button" }, [
    element("span", { class: "q", dir: "auto", text: one.intent.slice(0, 300) }),
    element("bdi", { class: "about", text: line(one.person, one.task, one.system, `given ${one.given}`) }),
    element("bdi", { class: "about", text: line(verdict, `personalization ${short(mean(one, "personalization"))}`, one.stop) }),
  ]);
  if (one === current) button.setAttribute("aria-current", "true");
  button.addEventListener("click", () => {
    show(one, button);
    if (matchMedia("(max-width: 48rem)").matches) byId("detail").scrollIntoView();
  });
  return button;
}

// -- one dialogue ------------------------------------------------------------------------------------------------

function show(one, button) {
  current = one;
  for (const other of list.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
  (button ?? list.children[found.indexOf(one)])?.setAttribute("aria-current", "true");
  const faults = one.faults.map((fault) => element("li", { text: `The simulated user ${fault}.` }));
  byId("detail").replaceChildren(
    element("p", { class: "id", text: line(one.id, one.kind, one.domain) }),
    element("h3", { class: "external", dir: "auto", text: one.intent }),
    element("p", { class: "small" }, [element("span", { text: "Goal: " }), external(one.goal, "span")]),
    element("details", { class: "person", open: "" }, [
      element("summary", {}, [element("bdi", { text: line(`Who knew what: ${one.person}`) })]),
      element("div", { class: "knew" }, [
        knew(`The assistant, ${one.system}, was given ${one.given}`, data.texts[one.told]),
        knew(`The simulated user, ${one.user}, was told`, data.texts[one.brief]),
        knew("What bears on the task", [one.preferences, one.situation].filter(Boolean).join("\n\n")),
      ]),
    ]),
    ...(faults.length ? [element("h4", { text: "Faults of the simulated user" }), element("ul", { class: "small" }, faults)] : []),
    element("h4", { text: "What was said" }),
    ...one.turns.map((turn, place) => said(one, turn, place)),
    ...(one.closing ? [said(one, { role: "user", text: one.closing, thought: "", marks: [] }, null)] : []),
    element("p", { class: "ended" }, [element("strong", { text: `Ended: ${one.stop}` }), ...(one.detail ? [" ", external(one.detail, "span")] : [])]),
    element("h4", { text: "Marks of the judges" }),
    element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Marks of the judges" }, [scores(one)]),
    ...replies(one),
  );
  byId("detail").scrollTop = 0;
}

function knew(title, text) {
  return element("section", {}, [
    element("h4", {}, [element("bdi", { text: line(title) })]),
    element("div", { class: "profile", tabindex: "0", "aria-label": title }, [text ? external(text) : element("p", { class: "small", text: "Nothing." })]),
  ]);
}

function said(one, turn, place) {
  const tags = place === null ? [] : (one.turnScores[String(place)] ?? []).map(([judge, view, mark]) =>
    element("bdi", { class: "tag", text: line(`${data.judges[judge]}: ${short(mark)} of 4 (${view})`) }));
  if (place !== null && one.switches.includes(place + 1)) tags.push(element("span", { class: "tag", text: "another domain" }));
  const head = place === null ? "User, in closing" : `${place + 1}. ${turn.role === "user" ? "Simulated user" : "Assistant"}`;
  const parts = [element("h5", {}, [element("span", { text: head }), ...tags]), marked(turn)];
  if (turn.thought) {
    parts.push(element("details", {}, [element("summary", { class: "small", text: "What the user thought" }), external(turn.thought)]));
  }
  return element("div", { class: `turn by-${turn.role}`, role: "group", "aria-label": head, id: place === null ? "turn-closing" : `turn-${place + 1}` }, parts);
}

// Places are counted in code points, so the text is taken apart into those first.
function marked(turn) {
  const points = Array.from(turn.text);
  const box = element("div", { class: "external", dir: "auto" });
  const cuts = [...new Set([0, points.length, ...turn.marks.flatMap(([start, end]) => [start, end])])].filter((cut) => cut <= points.length).sort((a, b) => a - b);
  cuts.forEach((cut, place) => {
    if (place) {
      const start = cuts[place - 1];
      const text = points.slice(start, cut).join("");
      const over = turn.marks.filter((mark) => mark[0] <= start && cut <= mark[1]);
      box.append(over.length ? element("mark", { class: `k-${over[over.length - 1][2]}`, text }) : text);
    }
    for (const [, end, kind, path] of turn.marks) {
      if (end === cut && place) box.append(element("span", { class: "label", text: line(data.marks[kind], ...(path ? [path.slice(path.indexOf(".") + 1)] : [])) }));
    }
  });
  return box;
}

function scores(one) {
  const headings = ["judge", "context", "question", "mark", "answered"];
  const head = element("thead", {}, [element("tr", {}, headings.map((text) => element("th", { scope: "col", text })))]);
  const rows = one.scores.map(([judge, view, question, value, answered, asked]) => {
    const mark = value === null ? "no answer" : question === "completion" ? (value === 1 ? "done" : value === 0 ? "not done" : short(value)) : short(value);
    return element("tr", {}, [
      element("th", { scope: "row" }, [element("bdi", { text: data.judges[judge] })]),
      element("td", { text: view }),
      element("td", { text: question }),
      element("td", { text: mark }),
      element("td", { text: `${answered} of ${asked}` }),
    ]);
  });
  if (!rows.length) return element("p", { class: "small", text: "Nobody has judged this dialogue yet." });
  return element("table", {}, [head, element("tbody", {}, rows)]);
}

function replies(one) {
  const blocks = one.replies.map(([judge, view, question, sample, status, detail, reply]) => {
    const texts = [["Detail", detail], ["Reply", reply]].filter(([, text]) => text).map(([kind, text]) =>
      element("div", { class: "reply", tabindex: "0", "aria-label": kind }, [element("strong", { text: `${kind}: ` }), external(text, "span")]));
    const title = line(data.judges[judge], view, question, ...(sample ? [`sample ${sample}`] : []), status);
    return element("details", {}, [element("summary", {}, [element("bdi", { text: title })]), ...texts]);
  });
  return blocks.length ? [element("h4", { text: "Raw replies" }), ...blocks] : [];
}

byId("search").addEventListener("input", filter);
for (const select of document.querySelectorAll(".filters select")) select.addEventListener("change", filter);
document.querySelector(".filters").addEventListener("submit", (event) => event.preventDefault());
byId("browser").hidden = false;
filter();
