// The workload's life as spans: one for each state it was in.
import type { Instance, TimelineEvent } from "../api/types";
import type { Span } from "../parts/PhaseChart";
import { toneOf } from "../parts/states";

// Events that say that a new state began, where the event is not named after it.
const STATE_OF: Record<string, string> = { start_completed: "running" };
const STATES = new Set(["created", "starting", "running", "stopping", "stopped", "failed"]);

export function phasesOf(events: TimelineEvent[], instance: Instance): Span[] {
  const marks = events.flatMap((event) => {
    const [noun, change = ""] = event.type.split(".");
    const state = STATE_OF[change] ?? change;
    return noun === "instance" && STATES.has(state) ? [{ state, at: event.at, key: event.id }] : [];
  });
  const real = marks.filter((mark, index) => mark.state !== marks[index - 1]?.state);
  return real.map((mark, index): Span => {
    const next = real[index + 1]?.at ?? instance.decommissioned_at;
    return {
      key: mark.key,
      name: mark.state,
      from: mark.at,
      to: next ?? null,
      status: mark.state,
      tone: toneOf(mark.state),
    };
  });
}
