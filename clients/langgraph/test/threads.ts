import type { RunnableConfig } from "@langchain/core/runnables";
import { emptyCheckpoint, uuid6, type ChannelVersions, type CheckpointTuple } from "@langchain/langgraph-checkpoint";

import type { KtrdrSaver } from "../src/index.js";

/** A config for a thread, or for a checkpoint of it. */
export function at(thread_id: string, checkpoint_id?: string, checkpoint_ns = ""): RunnableConfig {
  return { configurable: { thread_id, checkpoint_ns, ...(checkpoint_id === undefined ? {} : { checkpoint_id }) } };
}

/** A checkpoint to put: its channels and their versions; those in news are new. */
export interface Step {
  values?: Record<string, unknown>;
  versions?: ChannelVersions;
  news?: ChannelVersions;
  metadata?: Record<string, unknown>;
}

/** Puts a checkpoint under a parent and returns its config. */
export function put(saver: KtrdrSaver, parent: RunnableConfig, step: Step = {}): Promise<RunnableConfig> {
  const channel_versions = step.versions ?? {};
  const checkpoint = { ...emptyCheckpoint(), id: uuid6(0), channel_values: step.values ?? {}, channel_versions };
  return saver.put(parent, checkpoint, { source: "loop", step: 0, parents: {}, ...step.metadata }, step.news ?? channel_versions);
}

/** The values of a checkpoint that must be there. */
export async function values(saver: KtrdrSaver, config: RunnableConfig): Promise<Record<string, unknown>> {
  return (await found(saver, config)).checkpoint.channel_values;
}

/** A checkpoint that must be there. */
export async function found(saver: KtrdrSaver, config: RunnableConfig): Promise<CheckpointTuple> {
  const tuple = await saver.getTuple(config);
  if (tuple === undefined) {
    throw new Error(`there is no checkpoint ${JSON.stringify(config)}`);
  }
  return tuple;
}

/** Everything that a list yields. */
export async function all(listed: AsyncGenerator<CheckpointTuple>): Promise<CheckpointTuple[]> {
  const tuples: CheckpointTuple[] = [];
  for await (const tuple of listed) {
    tuples.push(tuple);
  }
  return tuples;
}

export function idOf(config: RunnableConfig): string {
  return config.configurable?.["checkpoint_id"] as string;
}
