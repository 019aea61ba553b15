// What a smoke launch is given: members on allocations, and the app's inputs. Pure.
import { type Component, componentsOf, inputsOf, type Manifest } from "../catalog/manifest";
import { check, type Errors } from "../forms/check";
import { sentOf, type Values } from "../forms/schema";
import type { Place } from "../launch/candidates";
import { refusalsOf } from "../launch/launchBlocks";
import { type Chosen, missingPlacements, placementsOf } from "../launch/placement";

/** What the form has so far. The manifest is that of the version, once it has come. */
export interface SmokeValues {
  manifest?: Manifest;
  chosen?: Chosen;
  inputs?: Values;
}

/** The choice with one more allocation for the first component that lacks one; null when there is nothing to add. As few
 * allocations as the API lets it: those that another component has come first. */
export function nextDefault(components: Component[], chosen: Chosen, places: Place[]): Chosen | null {
  const lacking = components.find((one) => (chosen[one.key]?.length ?? 0) < one.min);
  if (!lacking) return null;
  const mine = chosen[lacking.key] ?? [];
  const taken = new Set(Object.values(chosen).flat());
  const fitting = places.filter(
    (place) => !mine.includes(place.id) && refusalsOf(place, lacking.key).length === 0,
  );
  const place = fitting.find((one) => taken.has(one.id)) ?? fitting[0];
  return place ? { ...chosen, [lacking.key]: [...mine, place.id] } : null;
}

/** By the places of the form: `places.KEY` of a component, `inputs.NAME` of an input. */
export function smokeErrors({ manifest, chosen = {}, inputs = {} }: SmokeValues): Errors {
  if (!manifest) return { manifest: "The manifest is still loading" };
  const errors: Errors = {};
  for (const component of componentsOf(manifest)) {
    const [missing] = missingPlacements([component], chosen);
    if (missing) errors[`places.${component.key}`] = `Choose ${missing}`;
  }
  for (const [path, message] of Object.entries(check(inputsOf(manifest), inputs)))
    errors[`inputs.${path}`] = message;
  return errors;
}

export function smokeBody({ manifest = {}, chosen = {}, inputs = {} }: SmokeValues) {
  return { placement_intent: placementsOf(chosen), inputs: sentOf(inputsOf(manifest), inputs) as Values };
}
