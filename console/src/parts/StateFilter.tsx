import { Select } from "@mantine/core";
import { labelOf } from "./states";

interface Props<S extends string> {
  /** What is filtered by: "Status". */
  label: string;
  states: readonly S[];
  value: S | undefined;
  onChange: (state: S | undefined) => void;
  width?: number;
}

/** One state, or any: a filter that the API applies. */
export function StateFilter<S extends string>({ label, states, value, onChange, width = 140 }: Props<S>) {
  return (
    <Select
      size="xs"
      w={width}
      placeholder={`Any ${label.toLowerCase()}`}
      aria-label={label}
      clearable
      data={states.map((one) => ({ value: one as string, label: labelOf(one) }))}
      value={value ?? null}
      onChange={(next) => onChange((next ?? undefined) as S | undefined)}
    />
  );
}
