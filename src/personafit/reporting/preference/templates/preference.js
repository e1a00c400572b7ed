// Filtering the pairs; all texts are on the page already, and none is made into markup.

const search = document.getElementById("search");
const pairs = [...document.querySelectorAll("details.pair")];
const words = pairs.map((pair) => pair.textContent.toLowerCase());

function filter() {
  const wanted = search.value.trim().toLowerCase();
  let shown = 0;
  pairs.forEach((pair, place) => {
    pair.hidden = wanted !== "" && !words[place].includes(wanted);
    if (!pair.hidden) shown += 1;
  });
  document.getElementById("count").textContent = `${shown} of ${pairs.length} pairs`;
}

document.getElementById("filters").hidden = false;
search.addEventListener("input", filter);
filter();
