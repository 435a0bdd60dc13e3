"use strict";

// keys maps a key to what it does; every file may add some.
const keys = {};
const $ = (selector, under = document) => under.querySelector(selector);
const $$ = (selector, under = document) => [...under.querySelectorAll(selector)];
const make = (tag, made) => Object.assign(document.createElement(tag), made);

const themes = ["", "light", "dark"];

function showTheme() {
  const theme = document.documentElement.dataset.theme || "";
  for (const text of $$(".theme span:last-child")) text.textContent = { "": "Auto", light: "Light", dark: "Dark" }[theme];
}

function nextTheme() {
  const root = document.documentElement;
  const theme = themes[(themes.indexOf(root.dataset.theme || "") + 1) % themes.length];
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  keep("theme", theme);
  showTheme();
}

// keep and kept are settings of this browser; storage may be forbidden.
function keep(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {}
}

function kept(name) {
  try {
    return localStorage.getItem(name);
  } catch {}
}

keys.t = nextTheme;
showTheme();

// local writes the times of a page in the reader's zone, with UTC on hover.
function local(under) {
  for (const time of $$("time[datetime]", under)) {
    const at = new Date(time.dateTime);
    if (time.title || isNaN(at)) continue;
    const text = (time) => time.toISOString().replace("T", " ").slice(0, 19);
    time.title = text(at) + " UTC";
    const here = text(new Date(at - at.getTimezoneOffset() * 60000));
    const [date, clock] = here.split(" ");
    time.textContent = { date, clock }[time.dataset.show] || here;
  }
}
local(document);
