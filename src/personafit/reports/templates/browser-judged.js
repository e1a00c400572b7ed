// What was said of an item: who chose what, raw replies, and the words searched for marked in them.

// A rater a row, a context a column; in a cell what was chosen in each order, its mark and word, and the lead of A.
function choices(place, rows) {
  if (!rows.length) return element("p", { class: "small", text: "Nobody was asked about this item yet." });
  const contexts = data.contexts.map((_, context) => context).filter((context) => rows.some((ask) => ask.context === context));
  const headings = [data.words.rater ?? "rater", ...contexts.map((context) => data.contexts[context])];
  const head = element("thead", {}, [element("tr", {}, headings.map((text) => element("th", { scope: "col" }, [element("bdi", { text })])))]);
  const raters = [...new Set(rows.map((ask) => ask.rater))];
  const body = raters.map((rater) => element("tr", {}, [
    element("th", { scope: "row" }, [element("bdi", { text: data.raters[rater] }), ...(data.controls[rater] ? [" ", element("span", { class: "tag", text: "control" })] : [])]),
    ...contexts.map((context) => element("td", {}, rows.filter((ask) => ask.rater === rater && ask.context === context).map((ask) => said(place, ask)))),
  ]));
  return element("table", { class: "choices" }, [head, element("tbody", {}, body)]);
}

// A part of the item a row, a rater a column; what is not as people say stands out.
function rated(parts) {
  if (!parts.length) return element("p", { class: "small", text: "Nobody has judged this item yet." });
  const head = element("thead", {}, [element("tr", {}, data.columns.map((text) => element("th", { scope: "col" }, [element("bdi", { text })])))]);
  const body = parts.map(([text, note, cells]) => element("tr", {}, [
    element("th", { scope: "row" }, [external(texts.here(text), "span"), ...(note === null ? [] : [external(`because: ${texts.here(note)}`, "small")])]),
    ...cells.map(([shown, differs, score]) => element("td", {
      class: differs ? "mark differs" : "mark", text: differs ? `${shown} ≠` : shown, ...(score === null ? {} : { title: `score ${score}` }),
    })),
  ]));
  return element("table", { class: "choices rated" }, [head, element("tbody", {}, body)]);
}

function said(place, ask) {
  const order = ask.order ? element("span", { class: "order", text: `${orderName(ask.order)}: ` }) : "";
  if (ask.status !== "ok") return element("div", {}, [order, `– ${ask.status}`]);
  if (data.words.measure) return element("div", {}, [element("strong", { text: `${(100 * ask.value).toFixed(1)} %` }), ` ${data.words.measure}`]);
  const hit = ask.label === index.gold[place] ? `✓ ${data.words.right}` : ask.label === "tie" ? "" : `✗ ${data.words.wrong}`;
  const lead = typeof ask.value === "number" ? element("span", { class: "lead-of-a", text: ` ${Number(ask.value.toPrecision(3)).toLocaleString("en")}`, title: "lead of A" }) : "";
  return element("div", {}, [order, element("strong", { text: choice(ask.label) }), hit && ` ${hit}`, lead]);
}

// Open is the reply with a word that stands nowhere else.
function replies(rows, wanted) {
  const names = { detail: "Detail", reply: "Reply", reasoning: "Reasoning" };
  const blocks = rows.filter((ask) => SAID.some((kind) => ask[kind])).map((ask) => {
    const title = line(data.raters[ask.rater], data.contexts[ask.context], ...(ask.about ? [ask.about] : []), ...(ask.order ? [orderName(ask.order)] : []), ask.status);
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
