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
  // Live: the worker says when something changed. A tab that is looked at then asks
// for its own page and takes over the sections that differ.

let backend, lostSince, asking = false;

function banner(kind, title, text) {
  const at = document.getElementById("banner");
  at.replaceChildren();
  if (!kind) return;
  const box = document.createElement("div");
  box.className = "bn " + kind;
  box.setAttribute("role", "status");
  const strong = document.createElement("b");
  strong.textContent = title;
  const span = document.createElement("span");
  span.textContent = text;
  const button = document.createElement("button");
  button.className = "btn sm";
  button.textContent = "Dismiss";
  button.onclick = () => banner();
  box.append(strong, span, button);
  at.append(box);
}

const clock = (time) => new Date(time).toISOString().slice(11, 19);

function lost(since) {
  if (lostSince) return;
  lostSince = since;
  document.body.classList.add("lost");
  const live = document.querySelector("#live span");
  if (live) live.textContent = "Reconnecting";
  banner("bad", `Server unreachable since ${clock(since)}.`, "You see the last state. This page reconnects by itself.");
}

function found(beat) {
  const before = lostSince;
  lostSince = undefined;
  document.body.classList.remove("lost");
  const live = document.querySelectorAll("#live span");
  if (live.length > 1) {
    live[0].textContent = "Live";
    live[1].textContent = clock(beat.now) + " UTC";
  }
  if (backend && backend !== beat.backend) {
    const after = Math.round((Date.parse(beat.started) - (before || Date.parse(beat.started))) / 1000);
    banner("ok", `Server restarted at ${clock(beat.started)}${after > 0 ? `, after ${after} s` : ""}.`, "This page is live again.");
    setTimeout(() => banner(), 60000);
  } else if (before) {
    banner();
  }
  const restarted = backend !== undefined && backend !== beat.backend;
  backend = beat.backend;
  if (beat.changed || before || restarted) refresh();
}

async function refresh() {
  if (asking || document.hidden || !document.getElementById("main")) return;
  asking = true;
  try {
    const answer = await fetch(location.href, { headers: { "Ktrdr-Fragment": "1" }, redirect: "error" });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const section of fresh.querySelectorAll("[id][data-live]")) {
      const here = document.getElementById(section.id);
      // What a reader points at or types into does not move.
      if (!here || here.isEqualNode(section) || here.contains(document.activeElement) || here.matches(":hover")) continue;
      here.replaceWith(section);
    }
  } catch {
    // the worker says when the server is lost
  } finally {
    asking = false;
  }
}

function hear(message) {
  if (message.beat) found(message.beat);
  else lost(message.lost);
}

function connect() {
  if (!document.getElementById("live")) return;
  if (window.SharedWorker) {
    const worker = new SharedWorker(document.body.dataset.worker);
    worker.port.onmessage = (event) => hear(event.data);
    addEventListener("pagehide", () => worker.port.postMessage("bye"));
    return;
  }
  const source = new EventSource("/live");
  source.onmessage = (event) => hear({ beat: JSON.parse(event.data) });
  source.onerror = () => hear({ lost: Date.now() });
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) refresh();
});

showTheme();
connect();
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

// Live: the worker says when something changed. A tab that is looked at then asks
// for its own page and takes over the sections that differ.

let backend, lostSince, asking = false;

function banner(kind, title, text) {
  const at = document.getElementById("banner");
  at.replaceChildren();
  if (!kind) return;
  const box = document.createElement("div");
  box.className = "bn " + kind;
  box.setAttribute("role", "status");
  const strong = document.createElement("b");
  strong.textContent = title;
  const span = document.createElement("span");
  span.textContent = text;
  const button = document.createElement("button");
  button.className = "btn sm";
  button.textContent = "Dismiss";
  button.onclick = () => banner();
  box.append(strong, span, button);
  at.append(box);
}

const clock = (time) => new Date(time).toISOString().slice(11, 19);

function lost(since) {
  if (lostSince) return;
  lostSince = since;
  document.body.classList.add("lost");
  const live = document.querySelector("#live span");
  if (live) live.textContent = "Reconnecting";
  banner("bad", `Server unreachable since ${clock(since)}.`, "You see the last state. This page reconnects by itself.");
}

function found(beat) {
  const before = lostSince;
  lostSince = undefined;
  document.body.classList.remove("lost");
  const live = document.querySelectorAll("#live span");
  if (live.length > 1) {
    live[0].textContent = "Live";
    live[1].textContent = clock(beat.now) + " UTC";
  }
  if (backend && backend !== beat.backend) {
    const after = Math.round((Date.parse(beat.started) - (before || Date.parse(beat.started))) / 1000);
    banner("ok", `Server restarted at ${clock(beat.started)}${after > 0 ? `, after ${after} s` : ""}.`, "This page is live again.");
    setTimeout(() => banner(), 60000);
  } else if (before) {
    banner();
  }
  const restarted = backend !== undefined && backend !== beat.backend;
  backend = beat.backend;
  if (beat.changed || before || restarted) refresh();
}

async function refresh() {
  if (asking || document.hidden || !document.getElementById("main")) return;
  asking = true;
  try {
    const answer = await fetch(location.href, { headers: { "Ktrdr-Fragment": "1" }, redirect: "error" });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const section of fresh.querySelectorAll("[id][data-live]")) {
      const here = document.getElementById(section.id);
      // What a reader points at or types into does not move.
      if (!here || here.isEqualNode(section) || here.contains(document.activeElement) || here.matches(":hover")) continue;
      here.replaceWith(section);
    }
  } catch {
    // the worker says when the server is lost
  } finally {
    asking = false;
  }
}

function hear(message) {
  if (message.beat) found(message.beat);
  else lost(message.lost);
}

function connect() {
  if (!document.getElementById("live")) return;
  if (window.SharedWorker) {
    const worker = new SharedWorker(document.body.dataset.worker);
    worker.port.onmessage = (event) => hear(event.data);
    addEventListener("pagehide", () => worker.port.postMessage("bye"));
    return;
  }
  const source = new EventSource("/live");
  source.onmessage = (event) => hear({ beat: JSON.parse(event.data) });
  source.onerror = () => hear({ lost: Date.now() });
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) refresh();
});

showTheme();
connect();
