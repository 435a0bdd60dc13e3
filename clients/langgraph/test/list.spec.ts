import { saver } from "./server.js";
import { all, at, idOf, put } from "./threads.js";

describe("lists", () => {
  it("of many checkpoints with the same ids have each of them once, newest first", async () => {
    const s = saver();
    let last = at("a");
    for (let i = 0; i < 130; i++) {
      last = await put(s, last);
    }
    await s.copyThread("a", "b");
    await s.copyThread("a", "c");
    const listed = await all(s.list({}));
    expect(new Set(listed.map((t) => JSON.stringify(t.config))).size).toBe(390);
    expect(listed).toHaveLength(390);
    const ids = listed.map((t) => idOf(t.config));
    expect(ids).toEqual([...ids].sort().reverse());

    const some = await all(s.list({}, { limit: 200 }));
    expect(some.map((t) => t.config)).toEqual(listed.slice(0, 200).map((t) => t.config));
    expect(await all(s.list({}, { limit: 0 }))).toEqual([]);
    const before = listed[100];
    expect(before).toBeDefined();
    const older = await all(s.list(at("a"), before === undefined ? {} : { before: before.config }));
    expect(older.every((t) => idOf(t.config) < (ids[100] ?? ""))).toBe(true);
  });

  it("of large checkpoints that all have the same id come to an end", async () => {
    const s = saver();
    const threads = Array.from({ length: 12 }, (_, i) => `t${String(i).padStart(2, "0")}`);
    const [first = "", ...others] = threads;
    await put(s, at(first), { values: { c: "x".repeat(4 << 20) }, versions: { c: 1 } });
    for (const other of others) {
      await s.copyThread(first, other);
    }
    const listed = await all(s.list({}));
    expect(new Set(listed.map((t) => idOf(t.config))).size).toBe(1);
    expect(listed.map((t) => t.config.configurable?.["thread_id"] as string)).toEqual([...threads].reverse());
    expect(await all(s.list({}, { limit: 10 }))).toHaveLength(10);
  });

  it("that are too large for one answer come in several", async () => {
    const s = saver();
    const large = "x".repeat(5 << 20);
    let last = at("t");
    for (let i = 1; i <= 8; i++) {
      last = await put(s, last, { values: { c: `${i}${large}` }, versions: { c: i } });
    }
    const listed = await all(s.list(at("t")));
    expect(listed.map((t) => String(t.checkpoint.channel_values["c"]).slice(0, 1)).join("")).toBe("87654321");
  });
});
