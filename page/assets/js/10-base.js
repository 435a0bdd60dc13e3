"use strict";

// keys maps a key to what it does; every file may add some.
const keys = {};
const $ = (selector, under = document) => under.querySelector(selector);
const $$ = (selector, under = document) => [...under.querySelectorAll(selector)];
const make = (tag, made) => Object.assign(document.createElement(tag), made);

// fragment asks for a part of a page.
async function fragment(at, request) {
  const answer = await fetch(at, { ...request, headers: { "Ktrdr-Fragment": "1" } });
  return [answer, new DOMParser().parseFromString(await answer.text(), "text/html")];
}

// themes are the name of each, and the one after it.
const themes = { "": ["Auto", "light"], light: ["Light", "dark"], dark: ["Dark", ""] };
const theme = () => themes[document.documentElement.dataset.theme || ""];

function showTheme() {
  for (const text of $$(".theme span:last-child")) text.textContent = theme()[0];
}

function nextTheme() {
  keep("theme", (document.documentElement.dataset.theme = theme()[1]));
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
  for (const time of $$("[datetime]", under)) {
    const at = new Date(time.getAttribute("datetime"));
    if (time.title || isNaN(at)) continue;
    const text = (time) => time.toISOString().replace("T", " ").slice(0, 19);
    time.title = text(at) + " UTC";
    const here = text(new Date(at - at.getTimezoneOffset() * 60000));
    const [date, clock] = here.split(" ");
    time.textContent = { date, clock }[time.dataset.show] || here;
  }
}
local(document);
