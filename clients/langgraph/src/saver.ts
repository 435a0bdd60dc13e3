import { randomInt } from "node:crypto";

import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  MemorySaver,
  TASKS,
  WRITES_IDX_MAP,
  getCheckpointId,
  maxChannelVersion,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  type DeltaChannelHistory,
  type PendingWrite,
  type SerializerProtocol,
} from "@langchain/langgraph-checkpoint";

import { Client, KtrdrError, type ClientOptions } from "./client.js";
import { Lease, type LeaseOptions } from "./lease.js";
import { tuples } from "./list.js";
import type { WireHistory, WireRef, WireTuple, WireValue, WireWrite } from "./wire.js";

/** How a saver reaches its ktrdr and what it asks of it. */
export interface KtrdrSaverOptions extends ClientOptions {
  /** Whose threads they are: two tenants' threads of one name are two threads. */
  tenant?: string;
  /** Lets ktrdr delete a thread after so long without a new checkpoint; without it threads stay. */
  ttlSeconds?: number;
  /**
   * Refuses a checkpoint whose parent is no longer the newest one: of two
   * programs that continue from the same checkpoint the second gets an error of
   * code "conflict" instead of a fork. Going back on purpose is refused too.
   */
  refuseForks?: boolean;
  /** How values are turned into bytes; LangGraph's own serializer when left out. */
  serde?: SerializerProtocol;
}

/** What to do with the threads named to prune. */
export type PruneStrategy = "keep_latest" | "delete";

/**
 * Metadata is kept as JSON, whatever serializer the values have, so that lists
 * can be filtered by it. LangGraph's serializer is not exported, but every
 * saver has one.
 */
const plain: SerializerProtocol = new MemorySaver().serde;

/** The width of the counter and of the random tail of a channel's version. */
const versionDigits = 32;
const tailDigits = 14;

/**
 * KtrdrSaver keeps a LangGraph program's checkpoints in ktrdr. A checkpoint is
 * on disk when put returns, and calls outlive a restart of the server.
 *
 * Versions may be numbers or text here, which the base class can only say with
 * any: graphs are compiled with a saver of numbers.
 */
export class KtrdrSaver extends BaseCheckpointSaver<any> {
  protected readonly options: KtrdrSaverOptions;
  protected readonly client: Client;

  constructor(options: KtrdrSaverOptions) {
    super(options.serde);
    this.options = options;
    this.client = new Client(options);
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    if (config.configurable?.["thread_id"] === undefined) {
      return undefined;
    }
    const found = await this.#find<WireTuple>("get", this.#ref("get", config));
    return found && this.#tuple(found);
  }

  override async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const where = config.configurable ?? {};
    const query = {
      ...this.#tenant(),
      thread_id: where["thread_id"],
      checkpoint_ns: where["checkpoint_ns"],
      checkpoint_id: getCheckpointId(config) || undefined,
      before: options.before && (getCheckpointId(options.before) || undefined),
      filter: options.filter && (await jsonOf(options.filter)),
    };
    for await (const found of tuples(this.client, query, options.limit)) {
      if (found.damaged === undefined) {
        yield await this.#tuple(found);
      } else {
        process.emitWarning(`checkpoint ${found.checkpoint_id} of thread ${found.thread_id} is left out: ${found.damaged}`, "KtrdrWarning");
      }
    }
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { thread_id, checkpoint_ns, checkpoint_id: parent } = this.#ref("put", config);
    const { channel_values, ...document } = checkpoint;
    const changed = Object.keys(newVersions).filter((channel) => Object.hasOwn(channel_values, channel));
    const values = await Promise.all(changed.map(async (channel) => [channel, await this.#dump(channel_values[channel])] as const));
    const stored = await this.client.post<WireRef>("put", {
      ...this.#tenant(),
      thread_id,
      checkpoint_ns,
      parent_checkpoint_id: parent,
      checkpoint: document,
      channel_values: Object.fromEntries(values),
      new_versions: newVersions,
      metadata: await jsonOf(metadata),
      ttl_seconds: this.options.ttlSeconds,
      expected_latest: this.options.refuseForks === true ? (parent ?? "") : undefined,
      ...this.fence(thread_id),
    });
    return { configurable: { thread_id, checkpoint_ns, checkpoint_id: stored.checkpoint_id } };
  }

  override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    const ref = this.#ref("put writes", config);
    if (ref.checkpoint_id === undefined) {
      throw new Error('ktrdr put writes: the config has no "checkpoint_id" in its "configurable", so the writes belong to no checkpoint');
    }
    await this.client.post("writes", {
      ...ref,
      task_id: taskId,
      writes: await Promise.all(
        writes.map(async ([channel, value], position) => ({
          idx: WRITES_IDX_MAP[channel] ?? position,
          channel,
          value: await this.#dump(value),
        })),
      ),
      ...this.fence(ref.thread_id),
    });
  }

  override async deleteThread(threadId: string): Promise<void> {
    await this.prune([threadId], "delete"); // a thread's name in a body may be any text; in a path "." may not
  }

  /** Deletes threads, or all but the newest checkpoint of each namespace with what it needs. */
  async prune(threadIds: string[], strategy: PruneStrategy): Promise<void> {
    await this.client.post("prune", { ...this.#tenant(), thread_ids: threadIds, strategy });
  }

  /** Copies every checkpoint and write of one thread to another. */
  async copyThread(sourceId: string, targetId: string): Promise<void> {
    await this.client.post("copy", { ...this.#tenant(), source_thread_id: sourceId, target_thread_id: targetId });
  }

  /** Deletes the checkpoints whose metadata has one of these run_ids. */
  async deleteForRuns(runIds: string[]): Promise<void> {
    await this.client.post("runs/delete", { ...this.#tenant(), run_ids: runIds });
  }

  /**
   * Makes this program the only writer of a thread and returns the saver to
   * write with; every other saver only reads that thread until it is released.
   */
  async lease(threadId: string, options: LeaseOptions = {}): Promise<LeasedSaver> {
    return new LeasedSaver(this.options, await Lease.take(this.client, threadId, this.#tenant(), options));
  }

  /** One call for the whole parent chain. */
  override async getDeltaChannelHistory({ config, channels }: { config: RunnableConfig; channels: string[] }): Promise<Record<string, DeltaChannelHistory>> {
    if (channels.length === 0) {
      return {};
    }
    const found = await this.#find<Record<string, WireHistory>>("history", { ...this.#ref("history", config), channels });
    const histories = channels.map(async (channel) => {
      const { seed, writes } = found?.[channel] ?? { writes: [] };
      const history: DeltaChannelHistory = { writes: await this.#writes(writes) };
      if (seed !== undefined) {
        history.seed = await this.#load(seed);
      }
      return [channel, history] as const;
    });
    return Object.fromEntries(await Promise.all(histories));
  }

  /**
   * A counter and a random tail, so that no two forks reach the same version of
   * a channel. A thread that began with numbers stays with them: the two kinds
   * do not compare.
   */
  override getNextVersion(current: string | number | undefined): any {
    if (typeof current === "number") {
      return current + 1;
    }
    const count = current === undefined ? 0n : BigInt(current.split(".", 1)[0] ?? "0");
    const tail = String(randomInt(10 ** tailDigits)).padStart(tailDigits, "0");
    return `${String(count + 1n).padStart(versionDigits, "0")}.${tail}`;
  }

  /** What a write shows of its lease; a saver without one shows nothing. */
  protected fence(_threadId: string): { lease?: { token: number } } {
    return {};
  }

  #tenant(): { tenant?: string } {
    return this.options.tenant === undefined ? {} : { tenant: this.options.tenant };
  }

  /** The checkpoint a config means. */
  #ref(what: string, config: RunnableConfig): WireRef {
    const where = config.configurable ?? {};
    const thread_id: unknown = where["thread_id"];
    if (typeof thread_id !== "string") {
      throw new Error(`ktrdr ${what}: the config has no "thread_id" in its "configurable"; call the graph with { configurable: { thread_id: "…" } }, a string`);
    }
    const ref: WireRef = { ...this.#tenant(), thread_id, checkpoint_ns: where["checkpoint_ns"] ?? "" };
    const checkpoint_id = getCheckpointId(config);
    return checkpoint_id === "" ? ref : { ...ref, checkpoint_id };
  }

  async #find<T>(route: string, body: object): Promise<T | undefined> {
    try {
      return await this.client.post<T>(route, body);
    } catch (error) {
      if (error instanceof KtrdrError && error.code === "not_found") {
        return undefined;
      }
      throw error;
    }
  }

  async #tuple(found: WireTuple): Promise<CheckpointTuple> {
    const { thread_id, checkpoint_ns } = found;
    const at = (checkpoint_id: string): RunnableConfig => ({ configurable: { thread_id, checkpoint_ns, checkpoint_id } });
    const values = Object.entries(found.channel_values).map(async ([channel, value]) => [channel, await this.#load(value)] as const);
    const checkpoint: Checkpoint = { ...found.checkpoint, channel_values: Object.fromEntries(await Promise.all(values)) };
    const parent = found.parent_checkpoint_id;
    if (checkpoint.v < 4 && parent !== undefined) {
      await this.#migrate(checkpoint, found.pending_sends ?? []);
    }
    const tuple: CheckpointTuple = { config: at(found.checkpoint_id), checkpoint, pendingWrites: await this.#writes(found.pending_writes) };
    if (found.metadata !== undefined) {
      tuple.metadata = await plain.loadsTyped("json", JSON.stringify(found.metadata));
    }
    if (parent !== undefined) {
      tuple.parentConfig = at(parent);
    }
    return tuple;
  }

  /** Before format 4 the tasks to come were writes of the parent. */
  async #migrate(checkpoint: Checkpoint, sends: WireValue[]): Promise<void> {
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_values[TASKS] = await Promise.all(sends.map((value) => this.#load(value)));
    checkpoint.channel_versions = {
      ...checkpoint.channel_versions,
      [TASKS]: versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined),
    };
  }

  #writes(writes: WireWrite[]): Promise<CheckpointPendingWrite[]> {
    return Promise.all(writes.map(async (w): Promise<CheckpointPendingWrite> => [w.task_id, w.channel, await this.#load(w.value)]));
  }

  async #dump(value: unknown): Promise<WireValue> {
    const [type, bytes] = await this.serde.dumpsTyped(value);
    return { t: type, b: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64") };
  }

  #load(value: WireValue): Promise<unknown> {
    return this.serde.loadsTyped(value.t, new Uint8Array(Buffer.from(value.b, "base64")));
  }
}

/** LeasedSaver writes to one thread under a lease, and to no other. */
export class LeasedSaver extends KtrdrSaver implements AsyncDisposable {
  readonly held: Lease;

  constructor(options: KtrdrSaverOptions, held: Lease) {
    super(options);
    this.held = held;
  }

  /** Lets others write to the thread at once. */
  release(): Promise<void> {
    return this.held.release();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  protected override fence(threadId: string): { lease: { token: number } } {
    if (threadId !== this.held.threadId) {
      throw new Error(
        `ktrdr: this saver has the lease of thread ${JSON.stringify(this.held.threadId)} and writes to no other; ${JSON.stringify(threadId)} needs its own`,
      );
    }
    return { lease: { token: this.held.token } };
  }
}

/** An object as the JSON that LangGraph's serializer makes of it. */
async function jsonOf(object: object): Promise<unknown> {
  const [, bytes] = await plain.dumpsTyped(object);
  return JSON.parse(new TextDecoder().decode(bytes)) as unknown;
}
