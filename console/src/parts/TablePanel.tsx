import type { ReactNode } from "react";
import type { Listing } from "../api/pages";
import { Panel } from "./Panel";
import { type Column, ResourceTable } from "./ResourceTable";

interface Props<T> {
  title: string;
  /** The table's name for screen readers. Default: the title. */
  label?: string;
  /** What can be made, or how many there are. */
  aside?: ReactNode;
  columns: Column<T>[];
  listing: Listing<T>;
  empty: ReactNode;
  height?: string;
  /** What a row opens. */
  children?: ReactNode;
}

/** A part of a page that is a short table. */
export function TablePanel<T extends { id: string }>({
  title,
  label = title,
  aside,
  children,
  ...table
}: Props<T>) {
  return (
    <Panel title={title} flush aside={aside}>
      <ResourceTable plain label={label} rowId={(one) => one.id} {...table} />
      {children}
    </Panel>
  );
}

/** How many rows there are, once there are any. */
export function countOf<T>(listing: Listing<T>): ReactNode {
  return listing.rows.length > 0 && `${listing.rows.length}${listing.more ? "+" : ""}`;
}
