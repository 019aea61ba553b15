import type { CatalogEntry } from "../api/types";
import { KeyValues } from "../parts/KeyValues";
import type { Places } from "./candidates";
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
          ...Object.entries(chosen)
            .filter(([, ids]) => ids.length > 0)
            .map(([key, ids]): [string, string] => [key, ids.map(named).join(", ")]),
        ]}
      />
      {(missing.length > 0 || refusals.length > 0) && (
        <ul className={classes.lacking} aria-live="polite">
          {missing.map((sentence) => (
            <li key={sentence}>Choose {sentence}.</li>
          ))}
          {refusals.map((refusal) => (
            <li key={refusal.code + refusal.message}>{refusal.message}</li>
          ))}
        </ul>
      )}
    </>
  );
}
