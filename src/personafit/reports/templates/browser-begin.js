// Beginning: everything else is defined by now.

async function begin() {
  [index] = await Blocks.decode(data.blocks.index[0]);
  search = new ItemSearch(index, data.people, { people, texts, asks });
  for (const input of [byId("search"), personInput]) input.addEventListener("input", filter);
  for (const select of document.querySelectorAll(".filters select")) select.addEventListener("change", filter);
  document.querySelector(".filters").addEventListener("submit", (event) => event.preventDefault());
  byId("search").addEventListener("focus", () => search.readReplies(), { once: true });
  search.readTexts();
  await filter();
  byId("browser").hidden = false;
  await idle();
  byId("browser").append(element("datalist", { id: everybody }, data.people.slice(0, 2000).map((value) => element("option", { value }))));
}

if (typeof DecompressionStream === "undefined") {
  byId("browser").replaceChildren(element("p", { class: "warning", text: "This browser cannot unpack the items; one from 2023 or later can." }));
  byId("browser").hidden = false;
} else begin();
return { filter, texts, asks, get search() { return search; }, get index() { return index; } };
