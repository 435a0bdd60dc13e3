/** Where a ktrdr is and how patient to be with it. */
export interface ClientOptions {
  /** Its address, such as http://127.0.0.1:8000. */
  url: string;
  /** A token of scope admin; without one only a server with KTRDR_AUTH=none answers. */
  token?: string;
  /** How long one try may take; 60 s. */
  timeoutMs?: number;
  /** How long a call is repeated while the server cannot be reached; 30 s. */
  retryForMs?: number;
}

/** What a call came to when it did not succeed. */
export class KtrdrError extends Error {
  override readonly name = "KtrdrError";

  constructor(
    message: string,
    /** The server's code, such as "stale_epoch" or "not_found"; "unreachable" when there was no answer. */
    readonly code: string,
    /** The HTTP status; 0 when there was no answer. */
    readonly status: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Every answer but a stream. */
interface Envelope<T> {
  success: boolean;
  data: T;
  error: { code: string; message: string; retryable: boolean } | null;
}

/** Waits between tries: doubled each time, with a quarter of jitter. */
const firstWaitMs = 100;
const longestWaitMs = 2_000;

/**
 * Client posts JSON and repeats what was not answered. Every call of a saver
 * may be repeated: a checkpoint has its id, a write its index, and the same
 * deletion deletes the same. Connections are kept alive by fetch.
 */
export class Client {
  readonly #base: string;
  readonly #headers: Record<string, string>;
  readonly #timeoutMs: number;
  readonly #retryForMs: number;

  constructor(options: ClientOptions) {
    const url = new URL(options.url);
    if (url.username !== "" || url.password !== "") {
      throw new TypeError("ktrdr: the url must not hold a name or password; give the token as the option token");
    }
    this.#base = `${url.origin}${url.pathname.replace(/\/+$/, "")}/api/v1/threads`;
    this.#headers = { "content-type": "application/json" };
    if (options.token !== undefined) {
      this.#headers["authorization"] = `Bearer ${options.token}`;
    }
    this.#timeoutMs = options.timeoutMs ?? 60_000;
    this.#retryForMs = options.retryForMs ?? 30_000;
  }

  /** Calls one route and returns its data. */
  async post<T>(route: string, body: unknown): Promise<T> {
    const text = JSON.stringify(body);
    const giveUp = performance.now() + this.#retryForMs;
    for (let wait = firstWaitMs; ; wait = Math.min(2 * wait, longestWaitMs)) {
      const failed = await this.#try<T>(route, text);
      if ("data" in failed) {
        return failed.data;
      }
      const pause = failed.retryAfterMs ?? wait * (0.75 + Math.random() / 2);
      if (!failed.again || performance.now() + pause > giveUp) {
        throw failed.error;
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  async #try<T>(route: string, body: string): Promise<{ data: T } | Refusal> {
    let response: Response;
    let text: string;
    try {
      response = await fetch(`${this.#base}/${route}`, {
        method: "POST",
        headers: this.#headers,
        body,
        redirect: "error",
        signal: AbortSignal.timeout(this.#timeoutMs),
      });
      text = await response.text();
    } catch (cause) {
      const message = `ktrdr at ${this.#base} does not answer (${reason(cause)}); is "ktrdr serve" running there?`;
      return { again: true, error: new KtrdrError(message, "unreachable", 0, { cause }) };
    }
    const answer = parse<T>(text);
    if (response.ok && answer?.success === true) {
      return { data: answer.data };
    }
    return refusal(route, response, answer?.error ?? null);
  }
}

/** Why a try did not succeed, and whether another one may. */
interface Refusal {
  again: boolean;
  retryAfterMs?: number;
  error: KtrdrError;
}

function refusal(route: string, response: Response, error: Envelope<unknown>["error"]): Refusal {
  const { status } = response;
  if (error === null) {
    const message = `ktrdr ${route}: status ${status}, and not in ktrdr's words; does the url lead to a ktrdr?`;
    return { again: status >= 502 && status <= 504, error: new KtrdrError(message, "unreachable", status) };
  }
  const refused: Refusal = {
    again: status === 503 && error.retryable,
    error: new KtrdrError(`ktrdr ${route}: ${error.message}`, error.code, status),
  };
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  if (seconds >= 0) {
    refused.retryAfterMs = 1_000 * seconds;
  }
  return refused;
}

function parse<T>(text: string): Envelope<T> | null {
  try {
    return JSON.parse(text) as Envelope<T>;
  } catch {
    return null;
  }
}

/** What fetch hides in its cause. */
function reason(thrown: unknown): string {
  if (!(thrown instanceof Error)) {
    return String(thrown);
  }
  const { cause } = thrown;
  if (cause instanceof AggregateError && cause.errors.length > 0) {
    return reason(cause.errors[0]);
  }
  return cause instanceof Error && cause.message !== "" ? cause.message : thrown.message;
}
