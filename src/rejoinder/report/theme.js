"use strict";
// The theme follows the system until the reader says otherwise.
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
  system.addEventListener("change", label);
  label();
  button.hidden = false;
})();
