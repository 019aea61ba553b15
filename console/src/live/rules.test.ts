import { expect, test } from "vitest";
import { keys } from "../api/keys";
import type { Event } from "../api/types";
import { replaced } from "./patch";
import { staleAfter } from "./rules";

function event(type: string, data: object = {}): Event {
  return { id: "evt_1", type, subject: "x_1", data, time: "", cursor: "1.1" } as unknown as Event;
}

test("an event about a member makes its workload stale, and no list of workloads", () => {
  const stale = staleAfter(event("member.ready", { instance_id: "ins_1" }), "prj_1");
  expect(stale).toContainEqual(keys.one("instances", "prj_1", "ins_1"));
  expect(stale).not.toContainEqual(keys.lists("instances", "prj_1"));
});

test("an event of a kind that is not known yet makes nothing stale", () => {
  expect(staleAfter(event("novelty.happened"), "prj_1")).toEqual([]);
});

test("a row is put in its place, and the other pages stay the same objects", () => {
  const pages = [{ items: [{ id: "a" }] }, { items: [{ id: "b" }, { id: "c" }] }];
  const after = replaced({ pages, pageParams: [] }, { id: "c", name: "new" } as { id: string });
  expect(after?.pages[1]?.items[1]).toEqual({ id: "c", name: "new" });
  expect(after?.pages[0]).toBe(pages[0]);
  expect(replaced({ pages, pageParams: [] }, { id: "z" })).toBeNull();
});
