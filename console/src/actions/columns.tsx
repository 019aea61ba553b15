// What may be done with a row, at its end.
import type { ReactNode } from "react";
import type { Column } from "../parts/ResourceTable";
import { RowActions } from "../parts/RowActions";
import { ActionBar } from "./ActionBar";
import { type ActionTable, offered } from "./spec";

/** Buttons that the page draws itself: nothing, for a row with which nothing may be done. */
export function actionsColumn<T>(cell: (row: T) => ReactNode, width: string): Column<T> {
  return { key: "actions", header: "Actions", width, cell, wanted: (row) => Boolean(cell(row)) };
}

interface Bar<T> {
  /** Of all rows, or of this one. */
  table: ActionTable<T> | ((row: T) => ActionTable<T>);
  name: (row: T) => string;
  /** Default: what the API allows. */
  allowed?: (row: T) => readonly string[];
  header?: string;
  most?: number;
}

/** The actions that the API allows on the row. */
export function barColumn<T extends { allowed_actions: readonly string[] }>(
  { table, name, allowed = (row) => row.allowed_actions, header = "Actions", most }: Bar<T>,
  width: string,
): Column<T> {
  const tableOf = (row: T) => (typeof table === "function" ? table(row) : table);
  const cell = (row: T) => (
    <RowActions>
      <ActionBar
        resource={row}
        name={name(row)}
        allowed={allowed(row)}
        table={tableOf(row)}
        size="compact-xs"
        {...(most ? { most } : {})}
      />
    </RowActions>
  );
  const wanted = (row: T) => offered(tableOf(row), allowed(row)).length > 0;
  return { key: "actions", header, width, cell, wanted };
}
