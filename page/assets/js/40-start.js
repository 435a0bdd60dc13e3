// The form of a new research says while it is typed what it would start.
const startForm = $("#start");
let typed, tries = 0;

async function tryStart() {
  const mine = ++tries;
  const body = new URLSearchParams(new FormData(startForm));
  body.set("do", "check");
  try {
    const answer = await fetch("/new", { method: "POST", body, headers: { "Ktrdr-Fragment": "1" } });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!answer.ok || mine !== tries) return;
    for (const id of ["understood", "cost", "ahead"]) $("#" + id).replaceChildren(...fresh.getElementById(id).childNodes);
  } catch {
    // the worker says when the server is lost
  }
}

startForm?.addEventListener("input", () => {
  clearTimeout(typed);
  typed = setTimeout(tryStart, 400);
});
startForm?.addEventListener("keydown", (event) => {
  if ((event.metaKey || event.ctrlKey) && event.key === "Enter") startForm.requestSubmit($("#start-go"));
});
