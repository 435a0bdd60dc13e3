// The form of a new research says while it is typed what it would start.
const startForm = $("#start");
let typed, tries = 0;

async function tryStart() {
  const mine = ++tries;
  const body = new URLSearchParams(new FormData(startForm));
  body.set("do", "check");
  try {
    const [answer, fresh] = await fragment("/new", { method: "POST", body });
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
