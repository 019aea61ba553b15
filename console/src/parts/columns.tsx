// The kinds of columns that tables are made of: what a row shows, is sorted by and found by, said once.
import type { ReactNode } from "react";
import { Mono } from "./KeyValues";
import { PageLink } from "./PageLink";
import { RelativeTime } from "./RelativeTime";
import type { Column } from "./ResourceTable";
import { OpenButton } from "./RowActions";
import { StateBadge } from "./StateBadge";
import { labelOf } from "./states";

type Text = string | null | undefined;
type Of<T, V> = (row: T) => V;

/** Any column that is shown by one and sorted by the other. */
function column<T>(
  key: string,
  header: string,
  cell: Of<T, ReactNode>,
  value: Of<T, string | number | null | undefined>,
  width: string | undefined,
): Column<T> {
  return { key, header, cell, value: (row) => value(row) ?? null, ...(width ? { width } : {}) };
}

/** `shown`, where people read it otherwise than it is sorted. */
export function textColumn<T>(
  key: string,
  header: string,
  of: Of<T, Text>,
  width?: string,
  shown: Of<T, ReactNode> = of,
): Column<T> {
  return column(key, header, shown, of, width);
}

/** What is worth less of a reader's eye than its neighbours. */
export function dimColumn<T>(
  key: string,
  header: string,
  of: Of<T, Text>,
  width?: string,
  shown: Of<T, ReactNode> = of,
): Column<T> {
  const cell = (row: T) => {
    const text = shown(row);
    return (
      <span className="dim" title={typeof text === "string" ? text : undefined}>
        {text}
      </span>
    );
  };
  return column(key, header, cell, of, width);
}

/** A word of the API, in words for people. */
export function labelColumn<T>(key: string, header: string, of: Of<T, string>, width?: string): Column<T> {
  return column(key, header, (row) => labelOf(of(row)), of, width);
}

export function codeColumn<T>(key: string, header: string, of: Of<T, Text>, width?: string): Column<T> {
  return column(key, header, (row) => <code title={of(row) ?? undefined}>{of(row) ?? ""}</code>, of, width);
}

/** An id or a digest; `copy` is what the button to copy it is called. */
export function monoColumn<T>(
  key: string,
  header: string,
  of: Of<T, string>,
  width?: string,
  copy?: string,
): Column<T> {
  return column(key, header, (row) => <Mono text={of(row)} {...(copy ? { copy } : {})} />, of, width);
}

interface Target<T> {
  to: Of<T, string>;
  /** The project that the page is seen in, where the rows are of many. */
  project?: Of<T, string>;
}

export function linkColumn<T>(
  key: string,
  header: string,
  of: Of<T, string>,
  { to, project }: Target<T>,
  width?: string,
  value: Of<T, string> = of,
): Column<T> {
  const cell = (row: T) => (
    <PageLink to={to(row)} {...(project ? { search: { project: project(row) } } : {})}>
      {of(row)}
    </PageLink>
  );
  return column(key, header, cell, value, width);
}

/** A name that opens the rest of the row beside the table. */
export function openColumn<T>(
  key: string,
  header: string,
  of: Of<T, string>,
  open: (row: T) => void,
  width?: string,
  shown: Of<T, ReactNode> = of,
): Column<T> {
  const cell = (row: T) => <OpenButton onClick={() => open(row)}>{shown(row)}</OpenButton>;
  return column(key, header, cell, of, width);
}

export function stateColumn<T>(
  key: string,
  header: string,
  of: Of<T, string>,
  width = "8rem",
  value: Of<T, string> = of,
): Column<T> {
  return column(key, header, (row) => <StateBadge state={of(row)} />, value, width);
}

/** Of what is good until a moment at which it becomes `ended`: sorted by that moment. */
export function endedColumn<T>(of: Of<T, Text>, ended: string, width = "7rem"): Column<T> {
  return column("state", "State", (row) => <StateBadge state={of(row) ? ended : "active"} />, of, width);
}

export function enabledColumn<T extends { disabled: boolean }>(width = "7rem"): Column<T> {
  const state = (row: T) => (row.disabled ? "disabled" : "active");
  return stateColumn("state", "State", state, width, (row) => String(row.disabled));
}

/** `value`, where a time that is shown instead of another is not sorted by. */
export function timeColumn<T>(
  key: string,
  header: string,
  of: Of<T, Text>,
  width = "5.5rem",
  value: Of<T, Text> = of,
): Column<T> {
  return column(key, header, (row) => <RelativeTime at={of(row)} />, value, width);
}

export function countColumn<T>(
  key: string,
  header: string,
  of: Of<T, number | null>,
  width = "5rem",
  shown: Of<T, ReactNode> = of,
): Column<T> {
  return { ...column(key, header, shown, of, width), align: "end" };
}

/** The column, neither sorted nor searched by. */
export function unsorted<T>({ value: _, ...rest }: Column<T>): Column<T> {
  return rest;
}
