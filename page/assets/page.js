"use strict";

const themes = ["", "light", "dark"];

function showTheme() {
  const theme = document.documentElement.dataset.theme || "";
  for (const button of document.querySelectorAll(".theme")) {
    button.textContent = { "": "Auto", light: "Light", dark: "Dark" }[theme];
  }
}

function nextTheme() {
  const root = document.documentElement;
  const theme = themes[(themes.indexOf(root.dataset.theme || "") + 1) % themes.length];
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  try {
    localStorage.setItem("theme", theme);
  } catch {} // storage may be forbidden
  showTheme();
}

// Rows of tables with a link are walked by j and k.
function walk(step) {
  const links = [...document.querySelectorAll("tbody a.go")];
  const at = links.indexOf(document.activeElement);
  (links[Math.max(0, at + step)] || links[0])?.focus();
}

const keys = {
  t: nextTheme,
  j: () => walk(1),
  k: () => walk(-1),
};

document.addEventListener("keydown", (event) => {
  if (event.metaKey || event.ctrlKey || event.altKey) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  keys[event.key]?.();
});

document.addEventListener("click", (event) => {
  if (event.target.closest(".theme")) nextTheme();
  const copy = event.target.closest(".copy");
  if (copy) navigator.clipboard?.writeText(copy.previousElementSibling.textContent);
});

showTheme();
