// A chat with the model: a message is kept here until it is stored, and a failed answer can be asked for again.

import { freshId, post, remember, remembered } from "./queue.js";

/** Make the chat on a page work, if there is one; `reload` shows the page as the server has it. */
export function openChat(page, reload) {
  const talk = page.querySelector(".talk");
  if (!talk || talk.dataset.ended === "true") return;
  const place = Number(page.dataset.position), draft = `chat:${place}`;
  const find = (selector) => talk.querySelector(selector);
  const status = find("#writing"), again = find("[data-chat=again]"), box = find("#message");

  const send = (what, extra = {}) => post(`/api/chat/${what}`, { page: place, key: freshId(), ...extra });
  const failed = (reply) => {
    status.textContent = reply.body.error ?? document.getElementById("saved").dataset.offline;
    again.hidden = false;
    again.focus();
  };

  async function act(what, extra) {
    const reply = await send(what, extra);
    if (reply.ok) return reload();
    document.getElementById("saved").textContent =
      reply.body.error ?? document.getElementById("saved").dataset.offline;
  }

  async function deliver(message) {
    again.hidden = true;
    status.textContent = status.dataset.writing;
    const reply = await send("messages", message);
    if (!reply.ok) return failed(reply);
    remember(draft, null);
    return answer();
  }

  async function answer() {
    again.hidden = true;
    status.textContent = status.dataset.writing;
    const reply = await send("replies");
    if (!reply.ok) return failed(reply);
    await reload();
    document.getElementById("message")?.focus();
  }

  function speak() {
    const text = box.value.trim();
    if (!text || talk.dataset.last === "user" || remembered(draft)) return;
    const message = { text, key: freshId() };
    remember(draft, message);
    show(text);
    deliver(message);
  }

  function show(text) {
    const turn = document.createElement("li");
    turn.className = "turn by-user";
    turn.textContent = text;
    talk.querySelector(".turns").append(turn);
    box.value = "";
    box.disabled = true;
  }

  find("[data-chat=begin]")?.addEventListener("click", () => act("begin"));
  for (const button of talk.querySelectorAll("[data-chat=end]")) {
    button.addEventListener("click", () => act("end", { how: button.dataset.how }));
  }
  if (!box) return void find("[data-chat=begin]")?.focus();
  again.addEventListener("click", () => (remembered(draft) ? deliver(remembered(draft)) : answer()));
  find("form").addEventListener("submit", (event) => {
    event.preventDefault();
    speak();
  });
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    speak();
  });
  const unsent = remembered(draft);
  if (unsent) {
    show(unsent.text);
    deliver(unsent);
  } else if (talk.dataset.last === "user") answer();
  else box.focus();
}
