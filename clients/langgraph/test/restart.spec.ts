import { Annotation, Command, END, START, StateGraph, interrupt } from "@langchain/langgraph";

import { kill, saver } from "./server.js";
import { all, at, idOf, put } from "./threads.js";

describe("a server that is killed", () => {
  it("has every checkpoint and write that it acknowledged", async () => {
    const s = saver({ retryForMs: 120_000 });
    const acknowledged: string[] = [];
    let over = false;
    const writers = Array.from({ length: 4 }, async (_, n) => {
      let last = at(`t${n}`);
      for (let i = 1; !over; i++) {
        last = await put(s, last, { values: { c: i }, versions: { c: i } });
        await s.putWrites(last, [["c", new Uint8Array([n, i & 255])]], "task");
        acknowledged.push(`${n} ${idOf(last)} ${i}`);
      }
    });
    await expect.poll(() => acknowledged.length, { timeout: 60_000 }).toBeGreaterThan(20);
    await kill();
    const after = acknowledged.length;
    await expect.poll(() => acknowledged.length, { timeout: 60_000 }).toBeGreaterThan(after); // the writers continue by themselves
    over = true;
    await Promise.all(writers);

    const stored = new Set<string>();
    for (const tuple of await all(s.list({}))) {
      const n = String(tuple.config.configurable?.["thread_id"]).slice(1);
      const i = Number(tuple.checkpoint.channel_values["c"]);
      expect(tuple.pendingWrites).toEqual([["task", "c", new Uint8Array([Number(n), i & 255])]]);
      stored.add(`${n} ${idOf(tuple.config)} ${i}`);
    }
    expect(acknowledged.filter((one) => !stored.has(one))).toEqual([]);
  });

  it("lets a graph resume where it was interrupted", async () => {
    const State = Annotation.Root({
      log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
    });
    const graph = () =>
      new StateGraph(State)
        .addNode("plan", () => ({ log: ["planned"] }))
        .addNode("ask", () => ({ log: [`heard ${interrupt<string, string>("may I?")}`] }))
        .addNode("act", () => ({ log: ["acted"] }))
        .addEdge(START, "plan")
        .addEdge("plan", "ask")
        .addEdge("ask", "act")
        .addEdge("act", END);
    const tenant = `graph-${process.pid}-${Date.now()}`;
    const config = at("conversation");

    const before = graph().compile({ checkpointer: saver({ tenant, retryForMs: 120_000 }) });
    const stopped = await before.invoke({ log: ["begun"] }, config);
    expect(stopped.log).toEqual(["begun", "planned"]);
    await kill();

    const after = graph().compile({ checkpointer: saver({ tenant, retryForMs: 120_000 }) }); // as another process would
    expect((await after.getState(config)).next).toEqual(["ask"]);
    const done = await after.invoke(new Command({ resume: "yes" }), config);
    expect(done.log).toEqual(["begun", "planned", "heard yes", "acted"]);

    const history = [];
    for await (const state of after.getStateHistory(config)) {
      history.push(state);
    }
    const unplanned = history.find((state) => state.next[0] === "plan");
    expect(unplanned).toBeDefined();
    const edited = await after.updateState(unplanned?.config ?? {}, { log: ["edited"] });
    const forked = await after.invoke(null, edited);
    expect(forked.log).toEqual(["begun", "edited", "planned"]);
    const last = history[0]?.config ?? {};
    expect((await after.getState(last)).values).toEqual(done); // the fork changed nothing of what it left
  });
});
