import { expect, test } from "vitest";
import { FrameReader } from "./frames";

test("an event that is cut anywhere is read once it is whole", () => {
  const text = ': stream open\n\nid: 858.3\nevent: allocation.active\ndata: {"a":1}\n\n';
  for (let cut = 0; cut <= text.length; cut++) {
    const reader = new FrameReader();
    const frames = [...reader.push(text.slice(0, cut)), ...reader.push(text.slice(cut))];
    expect(frames).toEqual([{ id: "858.3", event: "allocation.active", data: '{"a":1}' }]);
  }
});

test("comments keep the line alive and are no events", () => {
  expect(new FrameReader().push(": still here\n\n: still here\n\n")).toEqual([]);
});
