// Sections that take longer come after the page.
async function load(section) {
  try {
    const answer = await fetch(section.dataset.load, { headers: { "Ktrdr-Fragment": "1" } });
    if (!answer.ok) return;
    section.replaceChildren(...new DOMParser().parseFromString(await answer.text(), "text/html").body.childNodes);
    local(section);
  } catch {
    // the worker says when the server is lost
  }
}
$$("[data-load]").forEach(load);
