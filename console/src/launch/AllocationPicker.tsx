import { Checkbox, Input, Radio } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import { useId } from "react";
import { shapeName } from "../catalog/manifest";
import { Empty, Loaded } from "../parts/Loaded";
import { PageLink } from "../parts/PageLink";
import { StateBadge } from "../parts/StateBadge";
import classes from "./AllocationPicker.module.css";
import type { Place, Places } from "./candidates";
import { reasonsOf, refusalsOf } from "./launchBlocks";

interface Props {
  label: string;
  places: UseQueryResult<Places>;
  component: string;
  chosen: string[];
  onChange: (chosen: string[]) => void;
  /** How many may be chosen. */
  most?: number;
  /** What is wrong with the choice. */
  error?: string | undefined;
}

/** The project's allocations; those that will not do are greyed out, with the reason. */
export function AllocationPicker({
  label,
  places,
  component,
  chosen,
  onChange,
  most = Number.POSITIVE_INFINITY,
  error,
}: Props) {
  const id = useId();
  return (
    <fieldset
      className={classes.picker}
      data-component={component}
      aria-describedby={error ? `${id}-error` : undefined}
    >
      <legend id={id} className={classes.legend}>
        {label}
      </legend>
      <Loaded query={places}>
        {(found) =>
          found.items.length === 0 ? (
            <Empty
              icon="cpu"
              title="This project has no allocations"
              text="An app runs on allocations. Allocate GPUs first."
            >
              <PageLink to="/allocations">Go to allocations</PageLink>
            </Empty>
          ) : (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
            <ul className={classes.list} tabIndex={0} aria-labelledby={id}>
              {found.items.toSorted(byFit(component, chosen)).map((place) => (
                <Row
                  key={place.id}
                  place={place}
                  places={found.items}
                  component={component}
                  single={most === 1}
                  checked={chosen.includes(place.id)}
                  full={chosen.length >= most && most !== 1}
                  onToggle={() => onChange(toggled(chosen, place.id, most))}
                />
              ))}
            </ul>
          )
        }
      </Loaded>
      {error && (
        <Input.Error id={`${id}-error`} className={classes.error} role="alert">
          {error}
        </Input.Error>
      )}
    </fieldset>
  );
}

interface RowProps {
  place: Place;
  places: Place[];
  component: string;
  single: boolean;
  checked: boolean;
  full: boolean;
  onToggle: () => void;
}

function Row({ place, places, component, single, checked, full, onToggle }: RowProps) {
  const refusals = refusalsOf(place, component);
  const disabled = !checked && (refusals.length > 0 || full);
  const Choice = single ? Radio : Checkbox;
  return (
    <li className={classes.row} data-off={disabled || undefined} data-allocation={place.id}>
      <Choice
        checked={checked}
        disabled={disabled}
        onChange={onToggle}
        size="sm"
        label={
          <span className={classes.words}>
            <span className={classes.name}>{place.name ?? place.id}</span>
            <span className={classes.facts}>
              {place.gpu_count} × {place.gpu_model} · {shapeName(place.shape)}
            </span>
            {refusals.length > 0 && !checked && (
              <span className={classes.why}>{reasonsOf(place, component, places).join(" ")}</span>
            )}
          </span>
        }
      />
      <StateBadge state={place.state} />
    </li>
  );
}

function byFit(component: string, chosen: string[]) {
  const rank = (place: Place) =>
    chosen.includes(place.id) || refusalsOf(place, component).length === 0 ? 0 : 1;
  return (one: Place, other: Place) => rank(one) - rank(other);
}

export function toggled(chosen: string[], id: string, most: number): string[] {
  if (chosen.includes(id)) return chosen.filter((one) => one !== id);
  return most === 1 ? [id] : [...chosen, id];
}
