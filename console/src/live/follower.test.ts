import { expect, test, vi } from "vitest";
import type { Event } from "../api/types";
import { Follower, type LiveState } from "./follower";

function frame(cursor: string): string {
  return `id: ${cursor}\nevent: x.y\ndata: ${JSON.stringify({ id: cursor })}\n\n`;
}

function answer(text: string, status = 200): Response {
  return new Response(status === 200 ? text : "{}", { status });
}

/** A platform that gives these answers one after the other, and then refuses. */
function follow(answers: (Response | Error)[]) {
  const asked: string[] = [];
  const events: string[] = [];
  const states: LiveState[] = [];
  let fresh = 0;
  const follower = new Follower({
    now: async () => "1.0",
    open: async (after) => {
      asked.push(after);
      const next = answers.shift() ?? answer("", 401);
      if (next instanceof Error) throw next;
      return next;
    },
    onEvent: (event: Event) => events.push(event.id),
    onState: (state) => states.push(state),
    onFresh: () => fresh++,
    sleep: async () => undefined,
  });
  return { follower, asked, events, states, fresh: () => fresh };
}

test("after a break it goes on from the last event that it saw", async () => {
  const seen = follow([answer(frame("1.1") + frame("1.2")), new TypeError("away"), answer(frame("1.3"))]);
  await seen.follower.run();
  expect(seen.asked).toEqual(["1.0", "1.2", "1.2", "1.3"]);
  expect(seen.events).toEqual(["1.1", "1.2", "1.3"]);
});

test("an event that was cut off by the break is asked for again", async () => {
  const half = frame("1.2").slice(0, 20);
  const seen = follow([answer(frame("1.1") + half), answer(frame("1.2"))]);
  await seen.follower.run();
  expect(seen.asked).toEqual(["1.0", "1.1", "1.2"]);
  expect(seen.events).toEqual(["1.1", "1.2"]);
});

test("what was read before the stream was open is read again, once", async () => {
  const seen = follow([answer(frame("1.1")), answer(frame("1.2"))]);
  await seen.follower.run();
  expect(seen.fresh()).toBe(1);
});

test("a lost line is said to be lost, and one that is refused is not asked for again", async () => {
  const seen = follow([new TypeError("away")]);
  await seen.follower.run();
  expect(seen.states).toEqual(["connecting", "lost", "refused"]);
  expect(seen.asked).toHaveLength(2);
});

test("a place that is not known any more is given up for now", async () => {
  const seen = follow([answer(frame("1.1")), answer("", 400), answer(frame("2.1"))]);
  await seen.follower.run();
  expect(seen.asked).toEqual(["1.0", "1.1", "1.0", "2.1"]);
  expect(seen.fresh()).toBe(2);
});

test("a platform that takes the request and never answers is given up, and asked again", async () => {
  vi.useFakeTimers();
  const asked: string[] = [];
  const follower = new Follower({
    now: async () => "1.0",
    open: async (after, signal) => {
      asked.push(after);
      if (asked.length > 1) return answer("", 401);
      return new Promise<Response>((_, refuse) =>
        signal.addEventListener("abort", () => refuse(new Error("given up"))),
      );
    },
    onEvent: () => undefined,
    onState: () => undefined,
    onFresh: () => undefined,
    sleep: async () => undefined,
  });
  const over = follower.run();
  await vi.advanceTimersByTimeAsync(60_000);
  vi.useRealTimers();
  await over;
  expect(asked).toEqual(["1.0", "1.0"]);
});

test("paused and run again it goes on from its place", async () => {
  const seen = follow([answer(frame("1.1"))]);
  await seen.follower.run();
  seen.follower.pause();
  await seen.follower.run();
  expect(seen.asked).toEqual(["1.0", "1.1", "1.1"]);
});
