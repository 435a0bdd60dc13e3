import { randomUUID } from "node:crypto";

import { KtrdrSaver, type KtrdrSaverOptions } from "../src/index.js";

/** The server to test against, which the Go test has started. */
export function saver(options: Partial<KtrdrSaverOptions> = {}): KtrdrSaver {
  const url = process.env["KTRDR_URL"];
  if (url === undefined) {
    throw new Error('KTRDR_URL names no server: run "go test ./clients/langgraph", which starts one');
  }
  const token = process.env["KTRDR_TOKEN"];
  return new KtrdrSaver({ url, ...(token === undefined ? {} : { token }), tenant: randomUUID(), ...options });
}

/** Kills the server with SIGKILL; answers when another one has taken its place. */
export async function kill(): Promise<void> {
  const answer = await fetch(process.env["KTRDR_CONTROL"] ?? "", { method: "POST" });
  if (!answer.ok) {
    throw new Error(`the server did not come back: ${await answer.text()}`);
  }
}
