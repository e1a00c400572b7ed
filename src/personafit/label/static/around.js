// What stands around a page: the list of pages, and the line that says what is stored.

import * as queue from "./queue.js";

/** Fill the list of pages: which are done, and which is shown. */
export function listPages(total, shown, isDone) {
  const list = document.querySelector("#pages ol");
  list.replaceChildren(...Array.from({ length: total }, (_, place) => {
    const item = document.createElement("li"), link = document.createElement("a");
    const known = isDone(place) ? list.dataset.done : list.dataset.undone;
    const here = place === shown ? `, ${list.dataset.here}` : "";
    link.href = `/rate/${place}`;
    link.textContent = String(place + 1);
    link.className = isDone(place) ? "done" : "";
    link.setAttribute("aria-label", `${place + 1}: ${known}${here}`);
    if (here) link.setAttribute("aria-current", "page");
    item.append(link);
    return item;
  }));
}

/** Say whether everything is stored, how much waits, and why. */
export function tellState() {
  const { count: left, busy, sentence } = queue.state();
  const status = document.getElementById("saved");
  status.classList.toggle("trouble", Boolean(sentence));
  if (left === 0) {
    status.textContent = sentence || (queue.kept ? status.dataset.saved : status.dataset.notkept);
    return;
  }
  const held = status.dataset.waiting.replace("{count}", left);
  status.textContent = sentence ? `${held}. ${sentence}` : busy ? status.dataset.saving : held;
}
