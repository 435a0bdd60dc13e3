// Sections that take longer are asked for when the page is there.
async function load(section) {
  const at = section.dataset.load;
  section.removeAttribute("data-load");
  try {
    const [answer, made] = await fragment(at);
    if (!answer.ok) throw new Error($("[role=alert]", made)?.textContent || "The server did not answer.");
    const fresh = made.getElementById(section.id) || section;
    if (fresh === section) section.replaceChildren(...made.body.childNodes);
    else section.replaceWith(fresh);
    local(fresh);
    document.dispatchEvent(new CustomEvent("fresh", { detail: fresh }));
  } catch (error) {
    const status = $("[role=status]", section);
    if (status) status.textContent = error.message;
    section.removeAttribute("aria-busy");
  }
}

function loadAll(under) {
  for (const section of $$("[data-load]", under)) load(section);
}
loadAll(document);

// When a research comes to its next phase, sections appear: all of the page is
// taken over. Once it has ended, nothing of it changes any more.
let phase = $("#head")?.dataset.phase;

document.addEventListener("fresh", async (event) => {
  const now = event.detail.dataset.phase;
  if (!now || now === phase) return;
  phase = now;
  const [answer, page] = await fragment(location.href), made = page.getElementById("strategy");
  if (!answer.ok || !made) return;
  if (made.hasAttribute("data-ended")) for (const section of $$("[data-live]", made)) section.removeAttribute("data-live");
  $("#strategy").replaceWith(made);
  local(made);
  loadAll(made);
  watch(made);
});

// A link into a section of this page changes that section alone.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-into]");
  const section = link && $("#strategy #" + link.dataset.into);
  if (!section || event.metaKey || event.ctrlKey) return;
  event.preventDefault();
  section.dataset.load = link.getAttribute("href");
  load(section);
  if (!section.contains(link)) section.scrollIntoView();
});
keys["["] = () => $("#trade-before")?.click();
keys["]"] = () => $("#trade-after")?.click();

// The scale of the equity, and the comparison of rows.
keys.l = () => $("#equity .seg a:not([aria-current])")?.click();
keys.x = () => document.activeElement.closest("tr")?.querySelector("[name=ids]")?.click();
keys.c = () => $("#pick")?.requestSubmit();
document.addEventListener("submit", (event) => {
  if (event.target.id !== "pick") return;
  event.preventDefault();
  location.href = "/compare?ids=" + $$("[name=ids]:checked", event.target).map((box) => box.value).join(",");
});
