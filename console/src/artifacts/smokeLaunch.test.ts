import { expect, test } from "vitest";
import type { Place } from "../launch/candidates";
import { nextDefault, smokeBody, smokeErrors } from "./smokeLaunch";

const COMPONENTS = [
  { key: "hub", display_name: "Hub", min: 1, max: 1 },
  { key: "relay", min: 1, max: 4 },
  { key: "probe", min: 0, max: 1 },
];

/** An allocation that the API refuses for these components. */
function place(id: string, ...refused: string[]): Place {
  const components = COMPONENTS.map(({ key }) => ({
    component_key: key,
    refusals: refused.includes(key)
      ? [{ code: "allocation_busy", message: `${id} runs hello already.` }]
      : [],
  }));
  return { id, name: id, components } as unknown as Place;
}

test("a smoke launch begins with the first allocations that fit, and with as few as it can", () => {
  const places = [place("busy", "hub", "relay"), place("one"), place("two")];
  const first = nextDefault(COMPONENTS, {}, places);
  expect(first).toEqual({ hub: ["one"] });
  const second = nextDefault(COMPONENTS, first ?? {}, places);
  expect(second).toEqual({ hub: ["one"], relay: ["one"] });
  expect(nextDefault(COMPONENTS, second ?? {}, places)).toBeNull();
});

test("an allocation that another component has is left where the API refuses to share it", () => {
  expect(nextDefault(COMPONENTS, { hub: ["one"] }, [place("one", "relay"), place("two")])).toEqual({
    hub: ["one"],
    relay: ["two"],
  });
});

test("where nothing fits there is no default, and the component says what it lacks", () => {
  expect(nextDefault(COMPONENTS, {}, [place("busy", "hub")])).toBeNull();
  const manifest = { components: COMPONENTS };
  expect(smokeErrors({ manifest })).toEqual({
    "places.hub": "Choose 1 allocation for Hub",
    "places.relay": "Choose 1 allocation for relay",
  });
  expect(smokeErrors({})).toHaveProperty("manifest");
});

test("inputs are checked by the app's schema, and empty ones are not sent", () => {
  const manifest = {
    components: [COMPONENTS[0] as (typeof COMPONENTS)[number]],
    inputs: {
      type: "object",
      properties: { size: { type: "integer", maximum: 4 }, note: { type: "string" } },
    },
  };
  const chosen = { hub: ["one"] };
  expect(smokeErrors({ manifest, chosen, inputs: { size: 9 } })).toEqual({ "inputs.size": "At most 4" });
  expect(smokeErrors({ manifest, chosen, inputs: { size: 3 } })).toEqual({});
  expect(smokeBody({ manifest, chosen, inputs: { size: 3, note: "" } })).toEqual({
    placement_intent: [{ component_key: "hub", allocation_id: "one" }],
    inputs: { size: 3 },
  });
});
