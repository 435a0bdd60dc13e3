import { hostname } from "node:os";

import { KtrdrError, type Client } from "./client.js";
import type { WireLease } from "./wire.js";

/** Who wants to write, and for how long at a time. */
export interface LeaseOptions {
  /**
   * The writer's name; host and process when left out. A writer that comes back
   * under its old name need not wait for its former self's lease to end.
   */
  holder?: string;
  /** How long the thread waits for a writer that died; 30. */
  ttlSeconds?: number;
}

/** What a lease is asked for with. */
interface Request {
  tenant?: string;
  thread_id: string;
  holder: string;
  ttl_seconds: number;
}

/**
 * Lease is the right to be the only writer of a thread. It renews itself until
 * it is released or its process ends. When it was lost all the same, by a
 * process that stood still for too long, the server refuses what is written
 * with it: nothing depends on noticing that here.
 */
export class Lease {
  readonly #client: Client;
  readonly #request: Request;
  readonly #timer: NodeJS.Timeout;
  #granted: WireLease;

  private constructor(client: Client, request: Request, granted: WireLease) {
    this.#client = client;
    this.#request = request;
    this.#granted = granted;
    this.#timer = setInterval(() => void this.#keep(), (1_000 * request.ttl_seconds) / 3);
    this.#timer.unref(); // a program that has nothing else to do may end
  }

  /** Takes a thread's lease; code "conflict" when another holder has it. */
  static async take(client: Client, threadId: string, tenant: { tenant?: string }, options: LeaseOptions): Promise<Lease> {
    const request: Request = {
      ...tenant,
      thread_id: threadId,
      holder: options.holder ?? `${hostname()}/${process.pid}`,
      ttl_seconds: options.ttlSeconds ?? 30,
    };
    return new Lease(client, request, await client.post<WireLease>("lease", request));
  }

  get threadId(): string {
    return this.#request.thread_id;
  }

  get holder(): string {
    return this.#request.holder;
  }

  /** The fencing token: greater than that of every earlier lease of the thread. */
  get token(): number {
    return this.#granted.token;
  }

  /** When it ends unless it is renewed, by the server's clock. */
  get expires(): Date {
    return new Date(this.#granted.expires);
  }

  /** Makes it last longer; code "stale_epoch" when it is over. */
  async renew(): Promise<void> {
    this.#granted = await this.#client.post<WireLease>("lease", { ...this.#request, token: this.token });
  }

  /** Lets others write at once. */
  async release(): Promise<void> {
    clearInterval(this.#timer);
    const { tenant, thread_id } = this.#request;
    await this.#client.post("lease/release", { tenant, thread_id, token: this.token });
  }

  /** Renews, and stops when there is nothing to renew any more. */
  async #keep(): Promise<void> {
    try {
      await this.renew();
    } catch (error) {
      if (error instanceof KtrdrError && error.status >= 400 && error.status < 500) {
        clearInterval(this.#timer);
      }
    }
  }
}
