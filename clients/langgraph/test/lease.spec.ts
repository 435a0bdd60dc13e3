import { saver } from "./server.js";
import { at, found, put, values } from "./threads.js";

describe("leases", () => {
  it("let one saver write and the others read", async () => {
    const s = saver();
    const root = await put(s, at("t"));
    const mine = await s.lease("t", { holder: "mine" });
    await expect(s.lease("t", { holder: "theirs" })).rejects.toMatchObject({ code: "conflict" });
    await expect(put(s, root)).rejects.toMatchObject({ code: "stale_epoch", status: 409 });
    await expect(s.putWrites(root, [["c", 1]], "task")).rejects.toMatchObject({ code: "stale_epoch" });

    const next = await put(mine, root, { values: { c: 1 }, versions: { c: 1 } });
    await mine.putWrites(next, [["c", 2]], "task");
    expect(await values(s, next)).toEqual({ c: 1 });
    expect((await found(s, next)).pendingWrites).toHaveLength(1);

    await mine.release();
    await put(s, next);
    await expect(put(mine, next)).rejects.toMatchObject({ code: "stale_epoch" });
  });

  it("refuse the writes of an earlier holder", async () => {
    const s = saver();
    const before = await s.lease("t", { holder: "me" });
    const after = await s.lease("t", { holder: "me" });
    expect(after.held.token).toBeGreaterThan(before.held.token);
    await expect(put(before, at("t"))).rejects.toMatchObject({ code: "stale_epoch" });
    await put(after, at("t"));
    await Promise.all([before.release(), after.release()]);
  });

  it("renew themselves, and end when they are not renewed", async () => {
    const s = saver();
    const lively = await s.lease("t", { holder: "lively", ttlSeconds: 9 });
    const first = lively.held.expires;
    await expect.poll(() => lively.held.expires.getTime(), { timeout: 60_000 }).toBeGreaterThan(first.getTime());
    await put(lively, at("t"));
    await lively.release();
    await expect(lively.held.renew()).rejects.toMatchObject({ code: "stale_epoch" });
  });

  it("are for one thread", async () => {
    const s = saver();
    const mine = await s.lease("t");
    await expect(put(mine, at("other"))).rejects.toThrow('"other" needs its own');
    await mine.release();
  });
});
