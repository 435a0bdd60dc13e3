/**
 * The bodies of /api/v1/threads, as docs/formats.md describes them.
 */

/** One serialised value: a type the server never interprets, and base64. */
export interface WireValue {
  t: string;
  b: string;
}

/** A checkpoint's address. */
export interface WireRef {
  tenant?: string;
  thread_id: string;
  checkpoint_ns: string;
  checkpoint_id?: string;
}

/** A checkpoint document without its channel_values. */
export interface WireCheckpoint {
  v: number;
  id: string;
  ts: string;
  channel_versions: Record<string, number | string>;
  versions_seen: Record<string, Record<string, number | string>>;
}

/** A task's write on a checkpoint. */
export interface WireWrite {
  task_id: string;
  channel: string;
  value: WireValue;
}

/** A checkpoint as it is read back. */
export interface WireTuple {
  thread_id: string;
  checkpoint_ns: string;
  checkpoint_id: string;
  parent_checkpoint_id?: string;
  checkpoint: WireCheckpoint;
  channel_values: Record<string, WireValue>;
  metadata?: unknown;
  pending_writes: WireWrite[];
  pending_sends?: WireValue[];
  damaged?: string;
}

/** One channel's writes along the parent chain. */
export interface WireHistory {
  seed?: WireValue;
  writes: WireWrite[];
}

/** A lease as it was granted. */
export interface WireLease {
  token: number;
  holder: string;
  expires: string;
}
