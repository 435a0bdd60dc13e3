"use strict";
// A shared worker: all tabs of a browser have one stream. A browser allows six
// connections to a host, and each stream holds one.

const delays = [1000, 2000, 5000, 1e4];
const tabs = new Set();
let source, opened, failed = 0, heard = Date.now();

function tell(message) {
  for (const tab of tabs) tab.postMessage(message);
}

function open() {
  source = new EventSource("/live");
  opened = Date.now();
  source.onmessage = (event) => {
    failed = 0;
    heard = Date.now();
    tell({ beat: JSON.parse(event.data) });
  };
  source.onerror = async () => {
    source.close();
    const session = await fetch("/session", { signal: AbortSignal.timeout(3000) }).catch(() => ({})); // the server may be away
    if (session.status === 401) {
      source = undefined; // the next tab opens it again
      return tell({ ended: true });
    }
    const wait = delays[Math.min(failed++, delays.length - 1)];
    tell({ lost: heard, next: Date.now() + wait });
    setTimeout(open, wait);
  };
}

// A connection may be silent. It is then given up and opened again.
const patience = [1e4, 3000, 1e9]; // while it is opened, while it is open, once it is closed
setInterval(() => {
  if (source && Date.now() - Math.max(heard, opened) > patience[source.readyState]) source.onerror();
}, 1000);

onconnect = (event) => {
  tabs.add(event.ports[0]);
  event.ports[0].onmessage = (message) => {
    if (message.data === "bye") tabs.delete(event.ports[0]);
  };
  if (!source) open();
};
