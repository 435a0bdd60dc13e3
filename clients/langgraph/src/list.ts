import { KtrdrError, type Client } from "./client.js";
import type { WireTuple } from "./wire.js";

/** Where a checkpoint stands in the order of lists. */
type Place = Pick<WireTuple, "thread_id" | "checkpoint_ns" | "checkpoint_id">;

/** What is asked of a list; what is undefined may be anything. */
export interface ListQuery {
  tenant?: string;
  thread_id?: string;
  checkpoint_ns?: string;
  checkpoint_id?: string | undefined;
  before?: string | undefined;
  /** The checkpoint after which the list continues. */
  after?: Place | undefined;
  filter?: unknown;
}

/** How many checkpoints one call asks for. */
const firstPage = 100;

/**
 * Yields checkpoints, newest first, page by page. Each page continues after
 * the last checkpoint of the one before, not after its id: threads that were copied
 * share their ids.
 */
export async function* tuples(client: Client, query: ListQuery, limit = Infinity): AsyncGenerator<WireTuple> {
  let after = query.after;
  let size = firstPage;
  for (let left = limit; left > 0; ) {
    const ask = Math.min(size, left);
    let page: WireTuple[];
    try {
      page = await client.post<WireTuple[]>("list", { ...query, after, limit: ask });
    } catch (error) {
      if (error instanceof KtrdrError && error.code === "too_large" && ask > 1) {
        size = Math.floor(ask / 2);
        continue;
      }
      throw error;
    }
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < ask) {
      return;
    }
    left -= page.length;
    after = { thread_id: last.thread_id, checkpoint_ns: last.checkpoint_ns, checkpoint_id: last.checkpoint_id };
  }
}
