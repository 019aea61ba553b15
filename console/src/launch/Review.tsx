import type { CatalogEntry } from "../api/types";
import { componentName, type Manifest } from "../catalog/manifest";
import { KeyValues } from "../parts/KeyValues";
import { RelativeTime } from "../parts/RelativeTime";
import type { Places } from "./candidates";
import { withNames } from "./launchBlocks";
import type { Chosen } from "./placement";
import classes from "./Review.module.css";

interface Props {
  name: string;
  entry: CatalogEntry;
  chosen: Chosen;
  places: Places | undefined;
  missing: string[];
}

/** A summary before the launch. */
export function Review({ name, entry, chosen, places, missing }: Props) {
  const named = (id: string) => places?.items.find((place) => place.id === id)?.name ?? id;
  const refusals = missing.length ? [] : (places?.refusals ?? []);
  return (
    <>
      <KeyValues
        items={[
          ["Workload", name.trim() || null],
          ["App", `${entry.display_name} ${entry.shown.version}`],
          ["Runtime version", entry.shown.runtime_version],
          [
            "Served by",
            entry.controller.since && (
              <span key="by">
                {entry.controller.served_by}, started <RelativeTime at={entry.controller.since} />
              </span>
            ),
          ],
          ...Object.entries(chosen)
            .filter(([, ids]) => ids.length > 0)
            .map(([key, ids]): [string, string] => [
              componentName(entry.manifest as Manifest, key),
              ids.map(named).join(", "),
            ]),
        ]}
      />
      {(missing.length > 0 || refusals.length > 0) && (
        <ul className={classes.lacking} aria-live="polite">
          {missing.map((sentence) => (
            <li key={sentence}>Choose {sentence}.</li>
          ))}
          {refusals.map((refusal) => (
            <li key={refusal.code + refusal.message}>{withNames(refusal.message, places?.items ?? [])}</li>
          ))}
        </ul>
      )}
    </>
  );
}
