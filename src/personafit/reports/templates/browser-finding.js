// Finding items: filters first, then words in texts, then in replies; what was found is drawn while the rest is still looked for.

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
    ? ` This page holds ${number(data.items)} of the run’s ${number(data.total)} items${data.words.cut ?? ", those got wrong first"}.`
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
