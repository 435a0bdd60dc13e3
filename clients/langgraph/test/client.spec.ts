import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

import { KtrdrSaver } from "../src/index.js";
import { saver } from "./server.js";
import { at, put } from "./threads.js";

/** Runs a test against a server that answers as told. */
async function against(listener: RequestListener, test: (url: string) => Promise<void>): Promise<void> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await test(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

describe("calls", () => {
  it("are repeated when the connection breaks or the server asks for it", async () => {
    let calls = 0;
    await against(
      (request, response) => {
        calls++;
        if (calls === 1) {
          request.socket.destroy();
        } else if (calls === 2) {
          response.writeHead(503, { "retry-after": "0" });
          response.end('{"success":false,"data":null,"error":{"code":"unknown_result","message":"repeat","retryable":true}}');
        } else if (calls === 3) {
          response.writeHead(502).end("<html>");
        } else {
          response.end('{"success":true,"data":null,"error":null}');
        }
      },
      async (url) => {
        await new KtrdrSaver({ url }).prune(["t"], "delete");
        expect(calls).toBe(4);
      },
    );
  });

  it("that are refused are not repeated", async () => {
    let calls = 0;
    await against(
      (_request, response) => {
        calls++;
        response.writeHead(409).end('{"success":false,"data":null,"error":{"code":"stale_epoch","message":"the lease is over","retryable":false}}');
      },
      async (url) => {
        await expect(new KtrdrSaver({ url }).prune(["t"], "delete")).rejects.toThrow("ktrdr prune: the lease is over");
        expect(calls).toBe(1);
      },
    );
  });

  it("end when no server answers, with a sentence that says what to do", async () => {
    let url = "";
    await against(
      () => undefined,
      (there) => {
        url = there;
        return Promise.resolve();
      },
    );
    const s = new KtrdrSaver({ url, retryForMs: 300 });
    await expect(s.getTuple(at("t"))).rejects.toMatchObject({ name: "KtrdrError", code: "unreachable", status: 0 });
    await expect(s.getTuple(at("t"))).rejects.toThrow(/does not answer \(.*ECONNREFUSED.*\); is "ktrdr serve" running there\?/);
  });

  it("that hang are given up", async () => {
    await against(
      () => undefined,
      async (url) => {
        await expect(new KtrdrSaver({ url, timeoutMs: 50, retryForMs: 0 }).getTuple(at("t"))).rejects.toMatchObject({ code: "unreachable" });
      },
    );
  });
});

describe("tokens", () => {
  it("that are wrong are refused, and never shown", async () => {
    const secret = "ktrdr_canary";
    const s = saver({ token: secret });
    const refused = await put(s, at("t")).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "unauthorized", status: 401 });
    expect(`${String(refused)} ${JSON.stringify(refused)} ${JSON.stringify(s)}`).not.toContain(secret);
  });

  it("do not belong into the url", () => {
    expect(() => saver({ url: "http://user:secret@127.0.0.1:1" })).toThrow("give the token as the option token");
  });
});

describe("configs", () => {
  it("without a thread are refused before the call", async () => {
    const s = new KtrdrSaver({ url: "http://127.0.0.1:1" });
    expect(await s.getTuple({})).toBeUndefined();
    await expect(put(s, {})).rejects.toThrow('no "thread_id"');
    await expect(s.putWrites(at("t"), [], "task")).rejects.toThrow('no "checkpoint_id"');
  });
});
