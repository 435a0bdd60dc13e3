// Rows of tables with a link are walked by j and k.
function walk(step) {
  const links = $$("tbody a.go");
  const at = links.indexOf(document.activeElement);
  (links[Math.max(0, at + step)] || links[0])?.focus();
}

keys.j = () => walk(1);
keys.k = () => walk(-1);
keys["/"] = () => $("input[type=search], .filters input")?.focus();
keys.n = () => (location.href = "/new");
keys["?"] = () => $("#keys")?.showModal();
keys["."] = () => $(".copy")?.click();

const places = { n: "/night", s: "/strategies", c: "/compare", o: "/operations", d: "/data" };
let going = false; // g was pressed

document.addEventListener("keydown", (event) => {
  if (event.metaKey || event.ctrlKey || event.altKey || kept("keys") === "off") return;
  if (event.target.matches?.("input, textarea, select") || $("dialog[open]")) return;
  if (going && places[event.key]) location.href = places[event.key];
  else if (keys[event.key]) {
    event.preventDefault();
    keys[event.key]();
  }
  going = event.key === "g";
});

document.addEventListener("click", async (event) => {
  const on = (selector) => event.target.closest(selector);
  if (on(".theme")) nextTheme();
  if (on(".dialog-close")) on("dialog").close();
  const copy = on(".copy");
  if (copy) {
    await navigator.clipboard?.writeText(copy.dataset.copy || copy.previousElementSibling.textContent);
    const before = copy.textContent;
    copy.textContent = "Copied";
    setTimeout(() => (copy.textContent = before), 1500);
  }
});

document.addEventListener("change", (event) => {
  if (event.target.id === "keys-on") keep("keys", event.target.checked ? "" : "off");
  if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
});
if ($("#keys-on")) $("#keys-on").checked = kept("keys") !== "off";

// A form that asks first is sent after a yes.
document.addEventListener("submit", (event) => {
  const ask = event.submitter?.dataset.ask || event.target.dataset.ask;
  if (ask && !confirm(ask)) event.preventDefault();
});
