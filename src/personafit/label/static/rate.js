// Rating in the browser: one key an answer, the next page at hand, and every answer undoable.

import { listPages, tellState } from "./around.js";
import { openChat } from "./chat.js";
import * as queue from "./queue.js";

const AHEAD = 2; // pages fetched before they are asked for
const TYPING = 800; // milliseconds without a key before a text is saved
const UNDONE = "undone", CANNOT_TELL = "cannot tell";
const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

const fetched = new Map(); // fragments by position
const mine = new Map(); // answers given in this tab, by position and field
const doneHere = new Map(); // what this tab knows of pages being done
let shownAt = performance.now();
let answers = {};
let current = null;
let answeredNow = false; // since the page was shown
let typing = null;

const main = () => one("main.rating");
const position = () => Number(main().dataset.position);
const total = () => Number(main().dataset.total);
const fields = () => all("fieldset.field", main());
const required = () => fields().filter((field) => field.dataset.required);
const practice = () => Boolean(main().dataset.practice);
const given = (code) => answers[code] && answers[code].why !== UNDONE ? answers[code] : null;
const isDone = (place) => doneHere.get(place) ?? main().dataset.done[place] === "1";
const complete = () =>
  Boolean(given("flag")) || (required().length > 0 && required().every((field) => given(field.dataset.code)));

// -- answering ---------------------------------------------------------------------------------------------------

function put(field, value, why) {
  const answer = {
    id: queue.freshId(), page: position(), key: main().dataset.page, field, value, why,
    client_time: Date.now() / 1000, seconds: Math.min(86400, (performance.now() - shownAt) / 1000),
  };
  answers[field] = { value, why };
  answeredNow = true;
  mine.set(position(), { ...mine.get(position()), [field]: { value, why } });
  mark(field);
  doneHere.set(position(), complete());
  count();
  return queue.add(answer);
}

function choose(button) {
  const { field, value = null, why = null } = button.dataset;
  const before = given(field);
  const same = before && before.value === value && before.why === why;
  if (field === "flag" && same) return void put(field, null, UNDONE);
  if (!same) {
    const stack = queue.remembered("undo") ?? [];
    queue.remember("undo", [...stack, { page: position(), field, before }].slice(-200));
    put(field, value, why);
  }
  if (practice() && field !== "flag") return void moveOn(field);
  if (complete() && (field === "flag" || main().dataset.advances)) next();
  else moveOn(field);
}

function moveOn(code) {
  const open = required().filter((field) => !given(field.dataset.code));
  const after = fields().findIndex((field) => field.dataset.code === code);
  const following = open.find((field) => fields().indexOf(field) > after) ?? open[0];
  if (following) attend(following, true);
  else if (complete()) {
    const text = fields().find((field) => one("textarea:not(.reason)", field));
    if (text) attend(text, false);
    text?.scrollIntoView({ block: "nearest" });
    one("#next").focus({ preventScroll: true });
  }
}

async function undo() {
  const stack = queue.remembered("undo") ?? [];
  const last = stack.pop();
  if (!last) return;
  if (last.page !== position() && !(await show(last.page))) return;
  queue.remember("undo", stack);
  put(last.field, null, UNDONE);
  if (last.before) put(last.field, last.before.value, last.before.why);
  const field = fields().find((each) => each.dataset.code === last.field);
  if (field) attend(field, true);
}

function mark(code) {
  const answer = given(code);
  const said = one(`fieldset[data-code="${CSS.escape(code)}"] .feedback`);
  if (said && !answer) said.hidden = true;
  for (const button of all(`button[data-field="${CSS.escape(code)}"]`)) {
    const pressed = answer && (answer.why ? button.dataset.why === answer.why : button.dataset.value === answer.value);
    button.setAttribute("aria-pressed", String(Boolean(pressed)));
  }
  for (const text of all(`textarea[data-field="${CSS.escape(code)}"]`)) {
    if (document.activeElement !== text) text.value = answer?.value ?? "";
  }
  const article = code === "fit" && all("article[data-letter]", main());
  for (const each of article || []) each.classList.toggle("chosen", each.dataset.letter === answer?.value);
}

function attend(field, focus) {
  current?.classList.remove("current");
  current = field;
  if (!field) return;
  field.classList.add("current");
  lightUp(field);
  if (!focus) return;
  field.focus({ preventScroll: true }); // the question, and none of its answers before the others
  field.scrollIntoView({ block: "nearest" });
}

/** Light up the passages a statement points to, and bring the first into sight. */
function lightUp(field) {
  const turns = (field?.dataset.evidence ?? "").split(" ").filter(Boolean);
  for (const turn of all(".turn", main())) turn.classList.toggle("evidence", turns.includes(turn.id.slice(5)));
  const apart = matchMedia("(min-width: 64rem)").matches; // the conversation scrolls by itself, beside the statements
  if (apart && turns.length) one(`#turn-${turns[0]}`)?.scrollIntoView({ block: "nearest" });
}

// -- texts -------------------------------------------------------------------------------------------------------

function typed(area) {
  clearTimeout(typing?.timer);
  const said = area.closest("fieldset")?.querySelector(".feedback");
  if (said) said.hidden = true;
  typing = { area, timer: setTimeout(keepText, TYPING) };
}

function keepText() {
  if (!typing) return;
  const { area, timer } = typing;
  clearTimeout(timer);
  typing = null;
  if ((given(area.dataset.field)?.value ?? "") !== area.value) put(area.dataset.field, area.value, null);
}

// -- moving about ------------------------------------------------------------------------------------------------

const say = (name) => { one("#saved").textContent = one("#saved").dataset[name]; };

async function fetchPage(place, ahead) {
  const headers = ahead ? { "x-prefetch": "1" } : { "hx-request": "true" };
  try {
    const reply = await fetch(`/rate/${place}`, { headers: { ...headers, accept: "text/html" } });
    const away = reply.headers.get("hx-redirect");
    if (away && !ahead) location.assign(away);
    if (reply.ok && !away) return await reply.text();
    if (!ahead) location.assign(`/rate/${place}`); // a page that says what is wrong
  } catch {
    if (!ahead) say("nopage");
  }
  return null;
}

async function show(place, push = true) {
  keepText();
  const html = fetched.get(place) ?? (await fetchPage(place, false));
  fetched.clear();
  if (!html) return false;
  htmx.swap("#page", html, { swapStyle: "innerHTML" });
  if (push) history.pushState(null, "", `/rate/${place}`);
  main().focus({ preventScroll: true });
  open();
  window.scrollTo(0, 0);
  return true;
}

export const reload = () => { fetched.clear(); return show(position(), false); };

function unfinished() {
  for (let step = 1; step <= total(); step += 1) {
    const place = (position() + step) % total();
    if (!isDone(place)) return place;
  }
  return null;
}

/** To the page after this one; from one that was just answered to what is still unfinished. */
async function next() {
  keepText();
  const browsing = !(answeredNow && complete());
  return browsing && position() + 1 < total() ? show(position() + 1) : goUnfinished();
}

async function goUnfinished() {
  keepText();
  const place = unfinished();
  if (place !== null && place !== position()) return show(place);
  if (place === null && (await queue.send())) location.assign("/done");
  return false;
}

const doing = {
  next, undo, unfinished: goUnfinished,
  previous: () => position() > 0 && show(position() - 1),
};

async function fetchAhead() {
  const here = position();
  for (let place = here + 1; place <= Math.min(here + AHEAD, total() - 1); place += 1) {
    if (fetched.has(place)) continue;
    const html = await fetchPage(place, true);
    if (position() !== here || !html) return;
    fetched.set(place, html);
  }
}

// -- what is shown around a page ------------------------------------------------------------------------------------

function count() {
  const done = Array.from({ length: total() }, (_, place) => isDone(place)).filter(Boolean).length;
  const text = one("#counted");
  text.textContent = text.dataset.text.replace("{done}", done).replace("{total}", total());
  one("#progress").value = done;
  one("#progress").setAttribute("aria-label", text.textContent);
  one("[data-do=undo]").disabled = !(queue.remembered("undo") ?? []).length;
  one("[data-do=previous]").disabled = position() === 0;
  one("#next").classList.toggle("ready", complete());
}

function feedBack(stored, reply) {
  if (!reply?.feedback || stored.page !== position()) return;
  const field = fields().find((each) => each.dataset.code === stored.field);
  const place = field && one(".feedback", field);
  if (!place) return;
  if (reply.feedback.unread && answers[stored.field]?.value === stored.value) {
    answers[stored.field] = { value: stored.value, why: UNDONE }; // kept, and no answer yet
    mine.set(position(), { ...mine.get(position()), [stored.field]: answers[stored.field] });
    doneHere.set(position(), complete());
    count();
  }
  place.hidden = false;
  place.className = `feedback ${reply.feedback.right ? "right" : "wrong"}`;
  place.textContent = `${reply.feedback.said} ${reply.feedback.why ?? ""}`;
}

function open() {
  shownAt = performance.now();
  answeredNow = false;
  answers = { ...JSON.parse(main().dataset.answers), ...mine.get(position()) };
  for (const answer of queue.waiting()) {
    if (answer.page === position()) answers[answer.field] = { value: answer.value, why: answer.why };
  }
  const codes = new Set([...Object.keys(answers), "flag", "note"]);
  codes.forEach(mark);
  current = null;
  const first = required().find((field) => !given(field.dataset.code)) ?? required()[0];
  if (required().length > 1) attend(first, false);
  else current = first ?? null;
  const narrow = matchMedia("(max-width: 48rem)").matches;
  for (const profile of all("details.profile", main())) profile.open = !narrow;
  const url = new URL(one("#language").href);
  url.pathname = `/rate/${position()}`;
  one("#language").href = `${url.pathname}${url.search}`;
  count();
  openChat(main(), reload);
  fetchAhead();
}

// -- keys and clicks -----------------------------------------------------------------------------------------------

document.addEventListener("click", (event) => {
  const target = event.target.closest("button, .pages a");
  if (!target) return;
  if (target.matches(".pages a")) {
    event.preventDefault();
    target.closest("dialog").close();
    show(Number(target.textContent) - 1);
  } else if (target.dataset.field) choose(target);
  else if (target.dataset.do) doing[target.dataset.do]();
  else if (target.dataset.open) {
    if (target.dataset.open === "pages") listPages(total(), position(), isDone);
    one(`#${target.dataset.open}`).showModal();
  }
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (one("dialog[open]") || event.target.matches("input, textarea")) return;
  if (event.repeat) return void (/^Arrow(Left|Right)$/.test(event.key) && event.preventDefault()); // a key held down is one answer
  const key = `[data-key="${CSS.escape(event.key.toLowerCase())}"]`;
  const field = document.activeElement.closest("fieldset.field") ?? current;
  const button = (field && one(key, field)) || all(key).find((each) => !each.closest("fieldset.field"));
  if (!button) return;
  event.preventDefault();
  if (!button.disabled) button.click();
});

document.addEventListener("input", (event) => event.target.matches("textarea[data-field]") && typed(event.target));
document.addEventListener("change", (event) => event.target.matches("textarea[data-field]") && keepText());
document.addEventListener("focusin", (event) => {
  const field = event.target.closest?.("fieldset.field");
  if (field && field !== current && required().length > 1) attend(field, false);
});
document.addEventListener("mouseover", (event) => {
  const field = event.target.closest?.("fieldset[data-evidence]");
  if (field) lightUp(field);
});
document.addEventListener("click", (event) => {
  const passage = event.target.closest?.("a[href^='#turn-']"); // it may stand in a conversation that is folded
  if (passage) one(passage.getAttribute("href"))?.closest("details")?.setAttribute("open", "");
});
window.addEventListener("popstate", () => {
  const place = Number(location.pathname.split("/").pop());
  if (place !== position()) show(place, false);
});
window.addEventListener("pagehide", keepText);

queue.hear((stored, reply) => {
  tellState();
  if (stored) feedBack(stored, reply);
});
open();
queue.send();
