// Marks become lines that `--verifier people:FILE` reads; nothing leaves the page.
const marked = document.getElementById("marked");
document.addEventListener("change", () => {
  const lines = [...document.querySelectorAll(".attribute input:checked")].map((input) =>
    JSON.stringify({
      attribute: input.name,
      text: input.closest(".attribute").querySelector(".statement bdi").textContent,
      label: input.value,
    }));
  if (marked) marked.value = lines.join("\n") + (lines.length ? "\n" : "");
});
