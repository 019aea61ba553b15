// What was chosen so far, by component.
import type { Component } from "../catalog/manifest";
import type { ChosenPlacement } from "./candidates";

export type Chosen = Record<string, string[]>;

export function placementsOf(chosen: Chosen): ChosenPlacement[] {
  return Object.entries(chosen).flatMap(([component_key, ids]) =>
    ids.map((allocation_id) => ({ component_key, allocation_id })),
  );
}

/** What is still to be chosen, in words. */
export function missingPlacements(components: Component[], chosen: Chosen): string[] {
  return components
    .filter((component) => (chosen[component.key]?.length ?? 0) < component.min)
    .map((component) => {
      const there = chosen[component.key]?.length ?? 0;
      const more = component.min - there;
      return `${more}${there ? " more" : ""} ${more === 1 ? "allocation" : "allocations"} for ${component.display_name ?? component.key}`;
    });
}
