// Live: the worker says when something changed. A tab that is looked at then asks
// for its own page and takes over the sections that differ.

let backend, lostSince, asking, again, timer;

function banner(kind, title, text) {
  const at = $("#banner");
  at.replaceChildren();
  if (!kind) return;
  const box = at.appendChild(make("div", { className: "bn " + kind, role: "status" }));
  box.append(
    make("b", { textContent: title }), make("span", { textContent: text }),
    make("button", { textContent: "Dismiss", className: "btn sm", onclick: () => banner() }),
  );
}

const clock = (time) => new Date(time).toTimeString().slice(0, 8);

function lost(since, next) {
  const wait = next ? ` Retry in ${Math.max(0, Math.round((next - Date.now()) / 1000))} s.` : "";
  if (!lostSince) {
    lostSince = since;
    document.body.classList.add("lost");
    $("#live span").textContent = "Reconnecting";
    for (const button of $$("main form[method=post] button:enabled")) {
      button.disabled = true;
      button.dataset.lost = "";
    }
  }
  banner("bad", `Server unreachable since ${clock(lostSince)}.`, `You see the last state.${wait}`);
}

function found(beat) {
  const before = lostSince, restarted = backend !== undefined && backend !== beat.backend;
  lostSince = undefined;
  document.body.classList.remove("lost");
  const live = $$("#live span");
  live[0].textContent = "Live";
  if (live[1]) live[1].textContent = clock(beat.now);
  for (const button of $$("[data-lost]")) {
    button.disabled = false;
    delete button.dataset.lost;
  }
  if (restarted) {
    const after = Math.round((Date.parse(beat.started) - (before || Date.parse(beat.started))) / 1000);
    banner("ok", `Server restarted at ${clock(beat.started)}${after > 0 ? `, after ${after} s` : ""}.`,
      "Live again.");
    setTimeout(() => banner(), 60000);
    meanwhile(before || beat.started);
  } else if (before) banner();
  // At the first beat, too: something may have happened since the server made this page.
  if (beat.changed || before || backend !== beat.backend) refresh();
  backend = beat.backend;
}

// meanwhile adds to the banner what happened while the server was lost.
async function meanwhile(since) {
  const [answer, made] = await fragment("/back?since=" + new Date(since).toISOString());
  local(made);
  if (answer.ok) $(".bn.ok span")?.append(" ", ...made.body.childNodes);
}

async function refresh() {
  if (asking) return void (again = true);
  if (document.hidden || !$("#view [data-live]")) return;
  asking = true;
  clearTimeout(timer);
  try {
    const [answer, fresh] = await fragment(location.href);
    if (answer.redirected) return void (location.href = "/login"); // the session has ended
    if (!answer.ok) return;
    const names = (under) => $$("[id][data-live]", under).map((e) => e.id).join();
    if (names(fresh) !== names($("#view")) && !$("#view :is(input, textarea, select):focus")) { // another state of the page: the first research, the end of one
      $("#view").replaceChildren(...fresh.body.childNodes);
      local($("#view"));
      loadAll($("#view"));
      watch($("#view"));
      return;
    }
    for (const section of $$("[id][data-live]", fresh)) {
      const here = document.getElementById(section.id);
      if (!here || here.dataset.html === section.outerHTML) continue;
      // What a reader points at or types into does not move; it is asked for again.
      if (here.contains(document.activeElement) || $(":is(a, button, summary):hover", here)) {
        again = true;
        continue;
      }
      section.dataset.html = section.outerHTML;
      for (const e of $$("details[id]", section)) e.open = ($("#" + e.id) || e).open;
      here.replaceWith(section);
      local(section);
      document.dispatchEvent(new CustomEvent("fresh", { detail: section }));
    }
  } catch {
    // the worker says when the server is lost
  } finally {
    if (again) timer = setTimeout(refresh, 1000);
    asking = again = false;
  }
}

function hear(message) {
  if (message.ended) location.href = "/login";
  else if (message.beat) found(message.beat);
  else lost(message.lost, message.next);
}

if ($("#live")) {
  if (window.SharedWorker) {
    const worker = new SharedWorker(document.body.dataset.worker);
    worker.port.onmessage = (event) => hear(event.data);
    addEventListener("pagehide", () => worker.port.postMessage("bye"));
    addEventListener("pageshow", (event) => event.persisted && location.reload()); // it came from the cache, without a worker
  } else {
    const source = new EventSource("/live");
    source.onmessage = (event) => hear({ beat: JSON.parse(event.data) });
    source.onerror = () => hear({ lost: Date.now() });
  }
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) refresh();
});
