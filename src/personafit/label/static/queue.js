// Answers on their way: each is kept in this browser under a key of its own until the server says that it is stored.
// A key for each answer, because two tabs that rewrite one list would lose answers; one tab sends at a time, in order.

const meta = (name) => document.querySelector(`meta[name=${name}]`).content;
const PREFIX = `personafit:${meta("study")}:`;
const ANSWER = `${PREFIX}answer:`, REFUSED = `${PREFIX}refused:`;
const FIRST_PAUSE = 1000, LONGEST_PAUSE = 15000, REFUSED_PAUSE = 30000;

let pause = FIRST_PAUSE, timer = 0, count = 0;
let sentence = "", passing = true; // what is wrong, and whether it is over once nothing waits
let sending = null;
const heard = [];
const shelf = openShelf();

export const kept = shelf.lasting;

/** Where answers wait: the browser's storage, or memory where it has none. */
function openShelf() {
  try {
    localStorage.setItem(`${PREFIX}probe`, "1");
    localStorage.removeItem(`${PREFIX}probe`);
    return {
      lasting: true,
      set: (key, value) => localStorage.setItem(key, value),
      get: (key) => localStorage.getItem(key),
      remove: (key) => localStorage.removeItem(key),
      keys: () => Object.keys(localStorage),
    };
  } catch {
    const held = new Map();
    return {
      lasting: false,
      set: (key, value) => held.set(key, value),
      get: (key) => held.get(key) ?? null,
      remove: (key) => held.delete(key),
      keys: () => [...held.keys()],
    };
  }
}

/** A fresh id; browsers have crypto.randomUUID on secure addresses only. */
export function freshId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function remember(name, value) {
  const key = `${PREFIX}${name}`;
  if (value === null) shelf.remove(key);
  else shelf.set(key, JSON.stringify(value));
}

export function remembered(name) {
  return JSON.parse(shelf.get(`${PREFIX}${name}`) ?? "null");
}

const keys = () => shelf.keys().filter((key) => key.startsWith(ANSWER)).sort();

/** The answers that wait, in the order given. */
export const waiting = () => keys().map((key) => JSON.parse(shelf.get(key) ?? "null")).filter(Boolean);

/** Hear of answers as they are stored, and of every change of what waits. */
export const hear = (listener) => heard.push(listener);

export function state() {
  const left = keys().length;
  return { count: left, busy: sending !== null, sentence: left || !passing ? sentence : "" };
}

const tell = (stored, reply) => heard.forEach((listener) => listener(stored, reply));

export function add(answer) {
  count += 1;
  const order = `${String(Date.now()).padStart(15, "0")}${String(count).padStart(6, "0")}`;
  shelf.set(`${ANSWER}${order}:${answer.id}`, JSON.stringify(answer));
  return send();
}

/** Send what waits. Resolves to whether nothing waits any more. */
export function send() {
  clearTimeout(timer);
  sending ??= locked(drain).then((empty) => {
    sending = null;
    tell();
    return empty && keys().length ? send() : empty; // one may have come while the lock was given back
  });
  tell();
  return sending;
}

const locked = (work) =>
  navigator.locks ? navigator.locks.request(`${PREFIX}send`, work) : work();

async function drain() {
  for (let key = keys()[0]; key; key = keys()[0]) {
    const answer = JSON.parse(shelf.get(key) ?? "null");
    if (answer === null) continue; // another tab was faster
    const reply = await post("/api/answers", answer);
    if (reply.ok) {
      shelf.remove(key);
      pause = FIRST_PAUSE;
      sentence = "";
      tell(answer, reply.body);
    } else if ([404, 409, 413, 422].includes(reply.status)) {
      shelf.set(key.replace(ANSWER, REFUSED), JSON.stringify(answer)); // sending it again cannot help
      shelf.remove(key);
      [sentence, passing] = [reply.body.error, false];
      tell();
    } else {
      passing = true;
      sentence = reply.body.error ?? document.getElementById("saved").dataset.offline;
      const refused = [401, 403].includes(reply.status);
      timer = setTimeout(send, refused ? REFUSED_PAUSE : pause);
      pause = Math.min(LONGEST_PAUSE, pause * 2);
      return false;
    }
  }
  return true;
}

/** Post JSON; never throws: without a connection the status is 0. */
export async function post(address, body) {
  try {
    const reply = await fetch(address, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", "x-csrf-token": meta("csrf") },
    });
    const text = await reply.text();
    return { ok: reply.ok, status: reply.status, body: parsed(text) };
  } catch {
    return { ok: false, status: 0, body: {} };
  }
}

function parsed(text) {
  try {
    const body = JSON.parse(text);
    return typeof body.error === "string" || !body.detail ? body : { error: "This answer was not understood." };
  } catch {
    return { error: text.slice(0, 200) };
  }
}

window.addEventListener("online", () => {
  pause = FIRST_PAUSE;
  send();
});
window.addEventListener("storage", () => tell());
