// Which version a project gets of an app, and why. Pure.
import type { CatalogApp } from "../api/types";

/** Without a canary there is nothing to choose, unless something was chosen before. */
export function hasChannels(app: CatalogApp): boolean {
  return app.channel_pinned || app.versions.some((one) => one.status === "canary");
}

export function channelText(app: CatalogApp): string {
  const canary = app.versions.find((one) => one.status === "canary");
  const gets = app.latest === null ? "Nothing can be launched" : `New workloads get version ${app.latest}`;
  if (!canary) return app.channel_pinned ? `${gets}. There is no canary now.` : `${gets}.`;
  if (app.channel_pinned)
    return app.channel === "canary"
      ? `${gets}, the canary, because this project is pinned to it.`
      : `${gets}, because this project is pinned to stable versions. ${canary.version} is a canary.`;
  const part = `${canary.canary_percent}% of projects`;
  return app.channel === "canary"
    ? `${gets}, the canary, because this project is one of the ${part} that get it.`
    : `${gets}. Version ${canary.version} is a canary for ${part}, and this project is not one of them.`;
}
