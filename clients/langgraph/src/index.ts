export { KtrdrError, type ClientOptions } from "./client.js";
export { Lease, type LeaseOptions } from "./lease.js";
export { KtrdrSaver, LeasedSaver, type KtrdrSaverOptions, type PruneStrategy } from "./saver.js";
