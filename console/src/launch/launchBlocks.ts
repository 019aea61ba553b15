// Why an app cannot be launched in a project now, and who can change it. The API decides; these are its words, in the
// order in which a person would have to solve them. Pure.
import type { CatalogApp, Project } from "../api/types";
import type { Component } from "../catalog/manifest";
import type { Place, Places } from "./candidates";

export interface LaunchBlock {
  reason: string;
  /** Who can do what about it. */
  remedy: string;
  link?: { to: string; text: string };
}

/** Null: it can be launched, if there is a place for it. */
export function launchBlock(app: CatalogApp, project: Project): LaunchBlock | null {
  if (app.allowed_actions.includes("instance_create")) return null;
  if (!project.allowed_actions.includes("instance_create")) return forbidden(project);
  if (app.latest === null) return versionless(app);
  return { reason: app.controller.message, remedy: app.controller.next_step ?? "Reload the page." };
}

function forbidden(project: Project): LaunchBlock {
  if (project.delete_after)
    return {
      reason: `${project.name} is being deleted, so nothing can be launched in it.`,
      remedy: "A tenant administrator can stop the deletion.",
    };
  return {
    reason: `You can look at apps in ${project.name}, but not launch them.`,
    remedy: "A project administrator can make you a project member.",
  };
}

function versionless(app: CatalogApp): LaunchBlock {
  const reason = `${app.display_name} has no version that can be launched.`;
  return app.own
    ? {
        reason,
        remedy: "An administrator of the project that publishes it can activate one.",
        link: { to: "/artifacts", text: "Artifacts and apps" },
      }
    : { reason, remedy: "Its publisher has to activate one." };
}

/** Null: every component finds a place, or it is not known yet. */
export function placementBlock(
  components: Component[],
  places: Places | undefined,
  project: Project,
): LaunchBlock | null {
  if (!places || places.next_cursor !== null) return null;
  const lacking = components.filter((one) => fitting(places.items, one.key) < one.min);
  const [first] = lacking;
  if (!first) return null;
  const may = project.allowed_actions.includes("allocation_create");
  return {
    reason:
      places.items.length === 0
        ? `${project.name} has no allocations to run it on.`
        : lack(first, places.items),
    remedy: may ? "Allocate GPUs for it first." : "A project member can allocate GPUs for it.",
    ...(may ? { link: { to: "/allocations", text: "Allocate GPUs" } } : {}),
  };
}

function lack(component: Component, places: Place[]): string {
  const name = component.display_name ?? component.key;
  const found = fitting(places, component.key);
  if (found > 0)
    return `${name} needs ${component.min} allocations, and ${found} of ${places.length} here ${found === 1 ? "fits" : "fit"}.`;
  const [why] = reasonsOf(places[0] as Place, component.key);
  if (places.length === 1) return `The only allocation here does not fit ${name}: ${why ?? "not suitable."}`;
  return `None of the ${places.length} allocations here fits ${name}. The first: ${why ?? "not suitable."}`;
}

function fitting(places: Place[], component: string): number {
  return places.filter((place) => refusalsOf(place, component).length === 0).length;
}

export function refusalsOf(place: Place, component: string) {
  return place.components.find((one) => one.component_key === component)?.refusals ?? [];
}

/** What the API has against the place, with names instead of ids: its own, and those of the others that were chosen. */
export function reasonsOf(place: Place, component: string, places: Place[] = [place]): string[] {
  return refusalsOf(place, component).map((one) => withNames(one.message, places));
}

/** Allocations by the names that people gave them. */
export function withNames(message: string, places: Place[]): string {
  return places.reduce((text, one) => text.replaceAll(one.id, one.name ?? one.id), message);
}
