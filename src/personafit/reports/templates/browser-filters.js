// The filters of an item browser: selects of raters, verdicts, facets and people, and one test for each that is in use.

// Each by the letters that fit it.
const VERDICTS = {
  all: "all",
  ...(data.verdicts ?? { w: data.words.wrong, r: data.words.right, m: data.words.mixed ?? "tie or split by order", n: "no answer" }),
};
const AGREEMENT = {
  all: "all",
  differ: data.words.differ ?? "raters disagree",
  right: `all ${data.words.right}`,
  wrong: `all ${data.words.wrong}`,
};

function fill(select, entries) {
  for (const [value, text] of entries) select.append(element("option", { value, text }));
  return select;
}

function addFilter(name, control) {
  byId("facets").append(element("label", { text: name }, [control]));
  return control;
}

fill(byId("rater"), [["", data.words.anybody ?? "any rater"], ...data.raters.map((name, place) => [String(place), name])]);
fill(byId("verdict"), Object.entries(VERDICTS));
// Rules do not take part in a disagreement, unless there are only rules.
const asked = data.raters.map((_, place) => place).filter((place) => !data.controls[place] || data.controls.every(Boolean));
const agreement = asked.length > 1 ? addFilter("Agreement", fill(element("select", { "data-filter": "agreement" }), Object.entries(AGREEMENT))) : null;
const statuses = data.statuses.length > 1
  ? addFilter(data.words.status ?? "Status", fill(element("select", { "data-filter": "status" }), [["", "all"], ...data.statuses.map((name, place) => [String(place), name])]))
  : null;
const facetSelects = data.facets.map((facet) => {
  const values = facet.values.map((value, place) => [String(place), value]);
  return addFilter(facet.name, fill(element("select", { "data-facet": facet.name }), [["", "all"], ...values]));
});
const everybody = `people-${Math.random().toString(36).slice(2)}`;
const personInput = addFilter("Person", element("input", { type: "search", "data-filter": "person", list: everybody, placeholder: "any", autocomplete: "off" }));

function agreementOf(place) {
  const said = new Set(asked.map((rater) => index.verdicts[rater][place]));
  said.delete("n");
  if (said.size > 1) return "differ";
  return said.has("r") ? "right" : said.size && !said.has("m") ? "wrong" : "none";
}

// One test per filter in use.
function tests() {
  const used = [];
  facetSelects.forEach((select, facet) => {
    const wanted = Number(select.value);
    if (select.value !== "") used.push((place) => index.facets[facet][place] === wanted);
  });
  const verdict = byId("verdict").value;
  const ofRater = (columns) => (byId("rater").value === "" ? columns : [columns[Number(byId("rater").value)]]);
  if (verdict !== "all") {
    const verdicts = ofRater(index.verdicts);
    used.push((place) => verdicts.some((letters) => verdict.includes(letters[place])));
  }
  if (statuses && statuses.value !== "") {
    const bit = 1 << Number(statuses.value);
    const endings = ofRater(index.statuses);
    used.push((place) => endings.some((letters) => letters.charCodeAt(place) & bit));
  }
  if (agreement && agreement.value !== "all") used.push((place) => agreementOf(place) === agreement.value);
  const person = personInput.value.trim().toLowerCase();
  if (person) {
    const named = data.people.map((id) => id.toLowerCase().includes(person));
    used.push((place) => named[index.person[place]]);
  }
  return used;
}
