"use strict";
// The theme follows the system until the reader says otherwise; links open folded sections.
(() => {
  const button = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const current = () => document.documentElement.dataset.theme || (system.matches ? "dark" : "light");
  const other = () => (current() === "dark" ? "light" : "dark");
  const label = () => {
    document.getElementById("theme-name").textContent = other();
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = other();
    label();
  });
  // A link of the menu also opens the section that it leads to.
  const open = () => {
    const section = document.getElementById(location.hash.slice(1));
    const folded = section && section.querySelector(":scope > details");
    if (folded) folded.open = true;
  };
  window.addEventListener("hashchange", open);
  open();
  system.addEventListener("change", label);
  label();
  button.hidden = false;
})();
