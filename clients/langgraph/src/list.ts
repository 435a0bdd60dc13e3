import { KtrdrError, type Client } from "./client.js";
import type { WireTuple } from "./wire.js";

/** What is asked of a list; what is undefined may be anything. */
export interface ListQuery {
  tenant?: string;
  thread_id?: string;
  checkpoint_ns?: string;
  checkpoint_id?: string | undefined;
  before?: string | undefined;
  filter?: unknown;
}

/** How many checkpoints one call asks for. */
const firstPage = 100;

/**
 * Yields checkpoints, newest first, page by page. The next page begins before
 * an id, and threads that were copied share their ids: so a page that may have
 * been cut between two of one id gives back that id and asks for it again.
 */
export async function* tuples(client: Client, query: ListQuery, limit = Infinity): AsyncGenerator<WireTuple> {
  let before = query.before;
  let size = firstPage;
  for (let left = limit; left > 0; ) {
    const ask = Math.min(size, left);
    let page: WireTuple[];
    try {
      page = await client.post<WireTuple[]>("list", { ...query, before, limit: ask });
    } catch (error) {
      if (error instanceof KtrdrError && error.code === "too_large" && ask > 1) {
        size = Math.floor(ask / 2);
        continue;
      }
      throw error;
    }
    const last = page.at(-1);
    if (last === undefined || page.length < ask || ask === left) {
      yield* page;
      return;
    }
    const whole = page.filter((found) => found.checkpoint_id !== last.checkpoint_id);
    const next = whole.at(-1);
    if (next === undefined) {
      size = 2 * ask;
      continue;
    }
    yield* whole;
    left -= whole.length;
    before = next.checkpoint_id;
  }
}
