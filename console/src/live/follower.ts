// One connection to an event stream that heals itself. It remembers the place of the last event, so that whatever
// happened while it was disconnected is told when it is back: nothing is lost, and what comes twice does no harm.

import { printableJson } from "../api/printable";
import type { Event } from "../api/types";
import { pauseBefore } from "./backoff";
import { FrameReader } from "./frames";

/** The stream says something at least every 15 s; silence for longer means that the line is dead. */
const SILENCE_MS = 40_000;

export type LiveState = "connecting" | "live" | "lost" | "refused";

export interface Wiring<Told = Event> {
  /** Opens the stream after a place; without one, from now on: it asks for the place first. */
  open: (after: string, signal: AbortSignal) => Promise<Response>;
  /** A cursor that goes on from now. */
  now: (signal: AbortSignal) => Promise<string>;
  onEvent: (event: Told) => void;
  onState: (state: LiveState, attempt: number) => void;
  /** The stream is open from a place that we did not know before: what was read earlier may be stale. */
  onFresh: () => void;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** The API refuses us, and asking again would not help. */
export class Refused extends Error {}

export function refuseIfRefused(response: Response): void {
  if ([401, 403, 404].includes(response.status)) throw new Refused(`events answered ${response.status}`);
}

export class Follower<Told = Event> {
  private place: string | undefined;
  private opened = 0;
  private running = new AbortController();

  constructor(private readonly wiring: Wiring<Told>) {}

  get paused(): boolean {
    return this.running.signal.aborted;
  }

  /** Runs until paused or refused; run again, it goes on from its place. */
  async run(): Promise<void> {
    this.running = new AbortController();
    const { signal } = this.running;
    for (let attempt = 0; !signal.aborted; ) {
      this.wiring.onState(attempt === 0 ? "connecting" : "lost", attempt);
      const opened = this.opened;
      try {
        await this.follow(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof Refused) return this.wiring.onState("refused", 0);
      }
      attempt = this.opened > opened ? 1 : attempt + 1; // it had been open: what failed is new
      await (this.wiring.sleep ?? sleep)(pauseBefore(attempt), signal);
    }
  }

  pause(): void {
    this.running.abort();
  }

  private async follow(signal: AbortSignal): Promise<void> {
    const fresh = this.place === undefined;
    const silence = new AbortController();
    const either = AbortSignal.any([signal, silence.signal]);
    const place = this.place ?? (await heard(this.wiring.now(either), silence));
    this.place = place;
    const response = await heard(this.wiring.open(place, either), silence);
    refuseIfRefused(response);
    if (response.status === 400) this.place = undefined; // the place is not known there any more: begin from now
    if (!response.ok || !response.body) throw new Error(`stream answered ${response.status}`);
    this.opened++;
    this.wiring.onState("live", 0);
    if (fresh) this.wiring.onFresh();
    await this.read(response.body, silence);
  }

  private async read(stream: ReadableStream<Uint8Array>, silence: AbortController): Promise<void> {
    const reader = stream.getReader();
    const text = new TextDecoder();
    const frames = new FrameReader();
    for (;;) {
      const { done, value } = await heard(reader.read(), silence);
      if (done) return;
      for (const frame of frames.push(text.decode(value, { stream: true }))) {
        this.wiring.onEvent(JSON.parse(printableJson(frame.data)) as Told);
        if (frame.id) this.place = frame.id;
      }
    }
  }
}

/** Whatever is waited for, a dead line is given up. */
function heard<T>(answer: Promise<T>, silence: AbortController): Promise<T> {
  const watchdog = setTimeout(() => silence.abort(), SILENCE_MS);
  return answer.finally(() => clearTimeout(watchdog));
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
