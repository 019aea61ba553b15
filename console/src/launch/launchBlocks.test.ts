import { expect, test } from "vitest";
import type { CatalogApp, Project } from "../api/types";
import { channelText } from "../catalog/channelText";
import type { Place, Places } from "./candidates";
import { launchBlock, placementBlock, reasonsOf } from "./launchBlocks";

const CONTROLLER = {
  state: "silent",
  message: "The controller of web was last seen 40 s ago.",
  next_step: "Start it.",
};
const APP = {
  display_name: "Web",
  latest: "1.0.0",
  own: false,
  versions: [],
  controller: CONTROLLER,
  allowed_actions: [],
};
const PROJECT = {
  name: "Training",
  delete_after: null,
  allowed_actions: ["instance_create", "allocation_create"],
};

const app = (more: object = {}) => ({ ...APP, ...more }) as unknown as CatalogApp;
const project = (more: object = {}) => ({ ...PROJECT, ...more }) as unknown as Project;

function places(...refusals: string[][]): Places {
  const items = refusals.map((all, number) => ({
    id: `alc_${number}`,
    components: [{ component_key: "web", refusals: all.map((message) => ({ code: "x", message })) }],
  }));
  return { items, next_cursor: null, refusals: [] } as unknown as Places;
}

test("what the API allows is not blocked", () => {
  expect(launchBlock(app({ allowed_actions: ["instance_create"] }), project())).toBeNull();
});

test("who may not launch is told who can change that, before anything else", () => {
  const block = launchBlock(app({ latest: null }), project({ allowed_actions: [] }));
  expect(block?.reason).toBe("You can look at apps in Training, but not launch them.");
  expect(block?.remedy).toContain("project administrator");
});

test("no version and no controller have their own reasons", () => {
  expect(launchBlock(app({ latest: null }), project())?.remedy).toContain("publisher");
  expect(launchBlock(app(), project())).toEqual({
    reason: "The controller of web was last seen 40 s ago.",
    remedy: "Start it.",
  });
});

test("a launch without a place for it is not offered, and says what the API has against the places", () => {
  const web = [{ key: "web", display_name: "Web", min: 1, max: 2 }];
  expect(placementBlock(web, undefined, project())).toBeNull();
  expect(placementBlock(web, places(["It is full."], []), project())).toBeNull();
  expect(placementBlock(web, { ...places(["It is full."]), next_cursor: "more" }, project())).toBeNull();
  expect(placementBlock(web, places(), project())?.reason).toBe("Training has no allocations to run it on.");
  const full = placementBlock(web, places(["It is full."], ["It is old."]), project());
  expect(full?.reason).toBe("None of the 2 allocations here fits Web. The first: It is full.");
  expect(full?.link?.to).toBe("/allocations");
  const asked = placementBlock(
    web,
    places(["It is full."]),
    project({ allowed_actions: ["instance_create"] }),
  );
  expect([asked?.link, asked?.remedy]).toEqual([undefined, "A project member can allocate GPUs for it."]);
});

test("a project learns which version it gets, and why", () => {
  const canary = { version: "2.0.0", status: "canary", canary_percent: 10 };
  const of = (more: object) => channelText(app({ versions: [canary], channel_pinned: false, ...more }));
  expect(of({ channel: "canary", latest: "2.0.0" })).toBe(
    "New workloads get version 2.0.0, the canary, because this project is one of the 10% of projects that get it.",
  );
  expect(of({ channel: "stable" })).toContain("this project is not one of them");
  expect(of({ channel: "stable", channel_pinned: true })).toContain("pinned to stable versions");
  expect(of({ channel: "canary", latest: "2.0.0", channel_pinned: true })).toContain("pinned to it");
});

test("a reason names allocations, and has the id of none that was chosen before", () => {
  const { items } = places([], ["alc_0 and alc_1 cannot share a network."]);
  const named = items.map((one, number) => ({ ...one, name: `train-${number}` }));
  expect(reasonsOf(named[1] as Place, "web", named)).toEqual(["train-0 and train-1 cannot share a network."]);
});
