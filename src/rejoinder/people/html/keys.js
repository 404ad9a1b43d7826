"use strict";
// Number keys choose an answer of the first question that has none yet; Enter sends the form.
document.addEventListener("keydown", (event) => {
  const form = document.getElementById("answers");
  if (!form || event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "TEXTAREA") return;
  const sets = [...form.querySelectorAll("fieldset")];
  if (/^[0-9]$/.test(event.key)) {
    const set = sets.find((one) => !one.querySelector("input:checked")) || sets[sets.length - 1];
    if (!set) return;
    const inputs = [...set.querySelectorAll("input")];
    const named = inputs.find((input) => input.value === event.key);
    const numeric = inputs.some((input) => /^[0-9]+$/.test(input.value));
    const chosen = named || (numeric ? null : inputs[Number(event.key) - 1]);
    if (chosen) { chosen.checked = true; chosen.focus(); event.preventDefault(); }
  } else if (event.key === "Enter" && event.target.tagName !== "BUTTON" && event.target.tagName !== "SUMMARY") {
    event.preventDefault();
    form.requestSubmit();
  }
});
// One click, one answer: a second click while the page is loading sends nothing.
document.addEventListener("submit", (event) => {
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "yes";
});
// How many characters of a written reply were pasted or dropped: organisers see it, and it is no error.
for (const kind of ["paste", "drop"]) {
  document.addEventListener(kind, (event) => {
    const form = document.getElementById("answers");
    if (!form || !form.elements.pasted || event.target.tagName !== "TEXTAREA") return;
    const text = (event.clipboardData || event.dataTransfer).getData("text");
    form.elements.pasted.value = String(Number(form.elements.pasted.value) + text.length);
  });
}
