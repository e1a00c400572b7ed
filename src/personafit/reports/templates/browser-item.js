// One item: the question, the person, what was told, and the answers side by side.

const letter = (place) => String.fromCharCode(65 + Number(place));
const orderName = (order) => (order === "" ? "" : [...order].map((place) => letter(parseInt(place, 36))).join(" then "));

function choice(label) {
  if (label === null || label === undefined) return "–";
  return label === "tie" ? "tie" : letter(label);
}

function show(place) {
  current = place;
  mark(place);
  const parts = [
    [people, index.person[place]], [asks, place], ...(data.blocks.told.length ? [[tellings, place]] : []),
    ...(data.blocks.marks ? [[marks, place]] : []), ...(data.blocks.turns ? [[transcripts, place]] : []), ...[...index.answers[place], ...(index.texts?.[place] ?? [])].map((text) => [texts, text]),
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
    ...(data.blocks.turns ? transcript(transcripts.here(place)) : []),
    ...(index.answers[place].length ? [
      element("h4", { text: data.words.answers ?? "Answers" }),
      element("div", { class: "answers" }, index.answers[place].map((text, at) => answer(place, text, at, rows))),
    ] : []),
    element("h4", { text: data.words.chosen ?? "Who chose what" }),
    element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": data.words.chosen ?? "Who chose what" }, [
      data.blocks.marks ? rated(marks.here(place)) : choices(place, rows),
    ]),
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
  return ((data.blocks.told.length && tellings.here(place)) || []).map(([context, text, status, from]) => {
    if (typeof context === "string") return knew(context, texts.here(text));
    const title = line(`Told under ${data.contexts[context]}${status === "ok" ? "" : ` (${status})`}`, ...(from.length ? [`from ${from.join(", ")}`] : []));
    return element("details", { class: "person" }, [
      element("summary", {}, [element("bdi", { text: title })]),
      scrolling("profile", "What was told", text || "Nothing was found."),
    ]);
  });
}

function answer(place, text, at, rows) {
  const gold = index.gold[place] === String(at);
  const by = new Set(rows.filter((ask) => ask.context === data.context && ask.label === String(at)).map((ask) => data.raters[ask.rater]));
  const name = index.makers ? data.makers[index.makers[place][at]] : `Answer ${letter(at)}`;
  const parts = [
    element("h5", { text: line(`${name}${gold ? ` ★ ${data.words.gold}` : ""}`) }),
    scrolling("text", `Text of ${index.makers ? name : `answer ${letter(at)}`}`, texts.here(text)),
  ];
  if (by.size) parts.push(element("p", { class: "chosen-by", text: line(`Chosen under ${data.contexts[data.context]} by ${[...by].join(", ")}`) }));
  return element("div", { class: gold ? "answer is-gold" : "answer", role: "group", "aria-label": name }, parts);
}

function knew(title, text) {
  return element("details", { class: "person" }, [element("summary", {}, [element("bdi", { text: line(title) })]), scrolling("profile", title, text)]);
}

// What was said, turn by turn, with what was counted in it.
function transcript({ turns, ended, notes }) {
  return [
    ...(notes.length ? [element("h4", { text: "Faults" }), element("ul", { class: "small" }, notes.map((text) => element("li", { text })))] : []),
    element("h4", { text: "What was said" }),
    ...turns.map(([speaker, role, text, found, tags, thought], place) => {
      const head = `${place + 1}. ${speaker}`;
      const parts = [
        element("h5", {}, [element("span", { text: head }), ...tags.map((tag) => element("bdi", { class: "tag", text: line(tag) }))]),
        marked(texts.here(text), found),
      ];
      if (thought) parts.push(element("details", {}, [element("summary", { class: "small", text: "What was thought" }), external(thought)]));
      return element("div", { class: `turn by-${role}`, role: "group", "aria-label": head }, parts);
    }),
    element("p", { class: "ended" }, [external(ended, "span")]),
  ];
}

// Places are counted in code points, so the text is taken apart into those first.
function marked(text, found) {
  const points = Array.from(text);
  const box = element("div", { class: "external", dir: "auto" });
  const ends = found.flatMap(([start, end]) => [start, end]);
  const cuts = [...new Set([0, points.length, ...ends])].filter((cut) => cut <= points.length).sort((a, b) => a - b);
  cuts.forEach((cut, place) => {
    if (place) {
      const part = points.slice(cuts[place - 1], cut).join("");
      const over = found.filter(([start, end]) => start <= cuts[place - 1] && cut <= end);
      box.append(over.length ? element("mark", { class: `k-${over[over.length - 1][2]}`, text: part }) : part);
    }
    for (const [, end, , label] of found) {
      if (end === cut && place) box.append(element("span", { class: "label", text: line(label) }));
    }
  });
  return box;
}
