// The list of items that were found: a hundred at a time, and how to walk it by keys.

function showMore() {
  const more = found.slice(shown, shown + PAGE);
  list.append(...more.map((place, step) => entry(place, shown + step)));
  shown += more.length;
}

function entry(place, order) {
  const facets = index.facets.slice(0, 2).map((column, facet) => data.facets[facet].values[column[place]]).filter(Boolean); // tier and half
  const count = (letter) => index.verdicts.filter((letters) => letters[place] === letter).length;
  const counts = index.about?.[place] ?? `${count("r")} ${data.words.right}, ${count("w")} ${data.words.wrong}`;
  const about = line(data.people[index.person[place]], ...facets, counts);
  const button = element("button", {
    type: "button", role: "option", tabindex: "-1", "aria-selected": "false", "aria-setsize": found.length, "aria-posinset": order + 1,
  }, [
    element("span", { class: "q", dir: "auto", text: index.question[place].slice(0, 300) }),
    element("bdi", { class: "about", text: about }),
  ]);
  button.addEventListener("click", (event) => {
    show(place);
    if (matchMedia("(max-width: 48rem)").matches) detail.scrollIntoView();
    if (event.detail === 0) detail.focus({ preventScroll: true }); // by the keyboard: on to the item
  });
  return button;
}

function mark(place) {
  for (const other of list.querySelectorAll("[tabindex='0']")) {
    other.tabIndex = -1;
    other.setAttribute("aria-selected", "false");
    other.removeAttribute("aria-current");
  }
  const option = list.children[found.indexOf(place)];
  option?.setAttribute("aria-selected", "true");
  option?.setAttribute("aria-current", "true");
  (option ?? list.firstElementChild).tabIndex = 0;
  return option;
}

function step(by) {
  const next = found.indexOf(current) + by;
  if (next < 0 || next >= found.length) return;
  while (next >= shown) showMore();
  show(found[next]);
  list.children[next].focus();
}

const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
list.addEventListener("keydown", (event) => {
  if (!(event.key in STEPS) || !found.length) return;
  event.preventDefault();
  const at = found.indexOf(current);
  const wanted = Math.max(0, Math.min(found.length - 1, at + STEPS[event.key]));
  if (wanted !== at) step(wanted - at);
});
list.addEventListener("scroll", () => {
  if (shown < found.length && list.scrollTop + list.clientHeight > list.scrollHeight - 600) showMore();
}, { passive: true });

// Single keys, which can be switched off: they get in the way of those who dictate.
const keys = element("input", { type: "checkbox", checked: "" });
byId("count").after(element("p", { class: "small keys" }, [
  element("label", {}, [keys, " Single keys: "]),
  ...[["/", "search"], ["j k", "next, previous item"], ["Enter", "into the item"], ["Esc", "back to the list"]].flatMap(
    ([key, what]) => [element("kbd", { text: key }), ` ${what} `],
  ),
]));
document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input:not([type=checkbox]), select, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && byId("browser").contains(event.target)) {
    if (event.target.matches("input[type=search]") && event.target.value) {
      event.target.value = "";
      filter();
    } else list.querySelector("[tabindex='0']")?.focus();
    event.preventDefault();
  } else if (typing || !keys.checked) return;
  else if (event.key === "/") {
    event.preventDefault();
    byId("search").focus();
    byId("search").select();
  } else if (event.key === "j") step(1);
  else if (event.key === "k") step(-1);
});
