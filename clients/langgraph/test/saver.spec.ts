import { ERROR, compareChannelVersions } from "@langchain/langgraph-checkpoint";

import { saver } from "./server.js";
import { all, at, found, idOf, put, values } from "./threads.js";

describe("forks", () => {
  it("that reach the same version keep their own values", async () => {
    const s = saver();
    const root = await put(s, at("t"), { values: { c: "root", kept: 1 }, versions: { c: 1, kept: 1 } });
    const a = await put(s, root, { values: { c: "a", kept: 1 }, versions: { c: 2, kept: 1 }, news: { c: 2 } });
    const b = await put(s, root, { values: { c: "b", kept: 1 }, versions: { c: 2, kept: 1 }, news: { c: 2 } });
    expect(await values(s, a)).toEqual({ c: "a", kept: 1 });
    expect(await values(s, b)).toEqual({ c: "b", kept: 1 });
    const afterA = await put(s, a, { values: { c: "a", kept: 1 }, versions: { c: 2, kept: 1 }, news: {} });
    expect(await values(s, afterA)).toEqual({ c: "a", kept: 1 });
  });

  it("that are copied under their grandparent keep their own values, as no version is reached twice", async () => {
    const s = saver();
    const first = s.getNextVersion(undefined);
    const root = await put(s, at("t"), { values: { c: "root" }, versions: { c: first } });
    const [va, vb] = [s.getNextVersion(first), s.getNextVersion(first)];
    await put(s, root, { values: { c: "a" }, versions: { c: va } });
    await put(s, root, { values: { c: "b" }, versions: { c: vb } });
    const copyOfB = await put(s, root, { versions: { c: vb }, news: {} });
    expect(await values(s, copyOfB)).toEqual({ c: "b" });
  });

  it("are refused by a saver that wants one history, but a repeated put is not", async () => {
    const s = saver({ refuseForks: true });
    const root = await put(s, at("t"));
    const tuple = await found(s, root);
    await s.put(at("t"), tuple.checkpoint, { source: "loop", step: 0, parents: {} }, {});
    await put(s, root);
    await expect(put(s, root)).rejects.toMatchObject({ code: "conflict", status: 409 });
  });
});

describe("versions", () => {
  it("grow in LangGraph's own order and never repeat", () => {
    const s = saver();
    let last = s.getNextVersion(undefined);
    for (let i = 0; i < 1_200; i++) {
      const [next, other] = [s.getNextVersion(last), s.getNextVersion(last)];
      expect(compareChannelVersions(next, last)).toBe(1);
      expect(other).not.toBe(next);
      last = next;
    }
  });

  it("of a thread that began with numbers stay numbers", () => {
    expect(saver().getNextVersion(9)).toBe(10);
  });
});

describe("pending writes", () => {
  it("are bytes when they were bytes", async () => {
    const s = saver();
    const c = await put(s, at("t"), { values: { b: new Uint8Array([0, 255, 10]) }, versions: { b: 1 } });
    await s.putWrites(c, [["bytes", new Uint8Array([255, 0, 128])], ["none", new Uint8Array()], ["null", null]], "task");
    const tuple = await found(s, c);
    expect(tuple.checkpoint.channel_values).toEqual({ b: new Uint8Array([0, 255, 10]) });
    expect(tuple.pendingWrites).toEqual([
      ["task", "bytes", new Uint8Array([255, 0, 128])],
      ["task", "none", new Uint8Array()],
      ["task", "null", null],
    ]);
  });

  it("that are repeated change nothing, and of an error the last counts", async () => {
    const s = saver();
    const c = await put(s, at("t"));
    await s.putWrites(c, [["a", 1], ["b", 2]], "task");
    await s.putWrites(c, [["a", "again"], ["b", "again"], ["new", 3]], "task");
    await s.putWrites(c, [[ERROR, "first"]], "task");
    await s.putWrites(c, [[ERROR, "last"]], "task");
    expect((await found(s, c)).pendingWrites).toEqual([
      ["task", ERROR, "last"],
      ["task", "a", 1],
      ["task", "b", 2],
      ["task", "new", 3],
    ]);
  });

  it("are ordered by task, then as they were written", async () => {
    const s = saver();
    const c = await put(s, at("t"));
    await s.putWrites(c, [["z", 1], ["a", 2]], "task-b");
    await s.putWrites(c, Array.from({ length: 12 }, (_, i): [string, number] => ["c", i]), "task-a");
    const order = (await found(s, c)).pendingWrites?.map(([task, , value]) => `${task}:${String(value)}`);
    expect(order).toEqual([...Array.from({ length: 12 }, (_, i) => `task-a:${i}`), "task-b:1", "task-b:2"]);
  });

  it("go with their thread, and so do child namespaces", async () => {
    const s = saver();
    const [gone, child, kept] = [await put(s, at("gone")), await put(s, at("gone", undefined, "child:1")), await put(s, at("kept"))];
    for (const c of [gone, child, kept]) {
      await s.putWrites(c, [["c", 1]], "task");
    }
    await s.deleteThread("gone");
    await s.deleteThread("gone");
    expect(await s.getTuple(child)).toBeUndefined();
    const again = await s.put(at("gone"), (await found(s, kept)).checkpoint, { source: "loop", step: 0, parents: {} }, {});
    expect((await found(s, again)).pendingWrites).toEqual([]);
    expect((await found(s, kept)).pendingWrites).toHaveLength(1);
  });
});

describe("threads", () => {
  it("are pruned to the newest checkpoint of each namespace with its writes", async () => {
    const s = saver();
    const first = await put(s, at("t"), { values: { c: 1 }, versions: { c: 1 } });
    const last = await put(s, first, { versions: { c: 1 }, news: {} });
    const child = await put(s, at("t", undefined, "child"));
    await s.putWrites(first, [["c", 1]], "task");
    await s.putWrites(last, [["c", 2]], "task");
    await s.prune(["t"], "keep_latest");
    expect((await all(s.list(at("t", undefined, "")))).map((t) => idOf(t.config))).toEqual([idOf(last)]);
    expect(await s.getTuple(child)).toBeDefined();
    expect(await values(s, last)).toEqual({ c: 1 });
    expect((await found(s, last)).pendingWrites).toEqual([["task", "c", 2]]);
    await s.prune(["t"], "delete");
    expect(await all(s.list({}))).toEqual([]);
  });

  it("are copied with their writes and live on alone", async () => {
    const s = saver();
    const c = await put(s, at("from"), { values: { c: 1 }, versions: { c: 1 } });
    await s.putWrites(c, [["c", 2]], "task");
    await s.copyThread("from", "to");
    await s.deleteThread("from");
    expect((await found(s, at("to"))).pendingWrites).toEqual([["task", "c", 2]]);
    expect(await values(s, at("to"))).toEqual({ c: 1 });
  });

  it("lose the checkpoints of a run", async () => {
    const s = saver();
    await put(s, at("t"), { metadata: { run_id: "r1" } });
    const kept = await put(s, at("t"), { metadata: { run_id: "r2" } });
    await s.deleteForRuns(["r1"]);
    expect((await all(s.list(at("t")))).map((t) => idOf(t.config))).toEqual([idOf(kept)]);
  });

  it("may have any name", async () => {
    const s = saver();
    for (const name of [".", "..", "a/b", "é?#%20", "__proto__"]) {
      const c = await put(s, at(name), { values: { __proto__x: name }, versions: { __proto__x: 1 } });
      expect(await values(s, c)).toEqual({ __proto__x: name });
      await s.deleteThread(name);
      expect(await s.getTuple(c)).toBeUndefined();
    }
  });

  it("keep metadata that is more than JSON, and are found by it", async () => {
    const s = saver();
    const metadata = { tags: new Set(["x"]), user: { id: 7 }, nothing: undefined };
    const c = await put(s, at("t"), { metadata });
    await put(s, at("t"), { metadata: { user: { id: 8 } } });
    const listed = await all(s.list(at("t"), { filter: { user: { id: 7 } } }));
    expect(listed.map((t) => idOf(t.config))).toEqual([idOf(c)]);
    expect(listed[0]?.metadata).toMatchObject(metadata);
  });
});
