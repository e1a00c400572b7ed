// The researcher's pages work without a script; this adds copying of links.

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  const field = button.parentElement.querySelector("input");
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    if (!document.execCommand("copy")) return; // without https there is no clipboard; the text stays selected
  }
  button.textContent = button.dataset.copy;
});
