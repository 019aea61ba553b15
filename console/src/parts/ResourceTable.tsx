// The table of every list: virtual rows, arrow keys, sorting, a text filter, pages as the reader gets there; cards on a phone.
import { TextInput } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  type KeyboardEvent,
  type ReactNode,
  useDeferredValue,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { type Listing, useRest } from "../api/pages";
import { Icon } from "./Icon";
import { Failed, Loading } from "./Loaded";
import classes from "./ResourceTable.module.css";
import { filtered, nextSort, type Sort, sorted } from "./tableRows";

export interface Column<T> {
  key: string;
  header: string;
  /** A CSS grid track: "minmax(10rem, 2fr)". */
  width?: string;
  cell: (row: T) => ReactNode;
  /** What it is sorted and searched by; without it, it is neither. */
  value?: (row: T) => string | number | null;
  align?: "end";
  /** The header is only for those who hear the page. */
  quiet?: boolean;
  /** Whether it has something for the row; a column that has nothing for any row is left out. */
  wanted?: (row: T) => boolean;
}

interface Props<T> {
  /** What the rows are, for those who hear the page. */
  label: string;
  columns: Column<T>[];
  listing: Listing<T>;
  rowId: (row: T) => string;
  empty: ReactNode;
  /** Beside the text filter: other filters, which the API applies. */
  tools?: ReactNode;
  /** Short tables inside a page need neither. */
  plain?: boolean;
  height?: string;
}

const ROW_HEIGHT = 45;

export function ResourceTable<T>(props: Props<T>) {
  const { listing, rowId } = props;
  const columns = useWanted(props.columns, listing.rows);
  const [sort, setSort] = useState<Sort | null>(null);
  const [text, setText] = useState("");
  const wanted = useDeferredValue(text.trim().toLowerCase());
  const box = useRef<HTMLDivElement>(null);

  // Sorting or searching a part of a list would hide what is not loaded yet.
  const needsAll = sort !== null || wanted !== "";
  useRest(listing, needsAll);

  const rows = useMemo(
    () => sorted(filtered(listing.rows, columns, wanted), columns, sort),
    [listing.rows, columns, wanted, sort],
  );
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_HEIGHT,
    getItemKey: (index) => rowId(rows[index] as T),
    overscan: 12,
  });
  const shown = virtual.getVirtualItems();
  const last = shown.at(-1)?.index ?? -1;
  useEffect(() => {
    if (!needsAll && listing.more && last >= listing.rows.length - 20) listing.loadMore();
  }, [last, needsAll, listing]);

  if (listing.error && listing.rows.length === 0)
    return <Failed error={listing.error} retry={listing.retry} />;
  const template = columns.map((column) => column.width ?? "minmax(6rem, 1fr)").join(" ");

  return (
    <div className={classes.frame}>
      {!props.plain && (
        <div className={classes.tools}>
          <TextInput
            size="xs"
            className={classes.search}
            placeholder="Filter"
            aria-label={`Filter ${props.label.toLowerCase()}`}
            leftSection={<Icon name="search" size={14} />}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
          {props.tools}
          <span className={classes.count} aria-live="polite">
            {listing.pending ? "" : countOf(rows.length, listing.rows.length, listing.more)}
          </span>
        </div>
      )}
      <div
        className={classes.box}
        ref={box}
        style={{ maxHeight: props.height ?? (props.plain ? "26rem" : "calc(100dvh - 15rem)") }}
        // A box that scrolls must be reachable with the keyboard.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
        tabIndex={0}
        role="region"
        aria-label={`${props.label}, rows`}
      >
        {listing.pending ? (
          <Loading />
        ) : rows.length === 0 ? (
          wanted ? (
            <p className={classes.none}>Nothing matches “{text}”.</p>
          ) : (
            props.empty
          )
        ) : (
          <div
            role="table"
            aria-label={props.label}
            aria-rowcount={listing.more ? -1 : rows.length + 1}
            className={classes.table}
            style={{ "--tracks": template } as React.CSSProperties}
          >
            <div role="rowgroup" className={classes.headGroup}>
              <div role="row" className={classes.head}>
                {columns.map((column) => (
                  <HeadCell
                    key={column.key}
                    column={column}
                    sort={sort}
                    onSort={() => setSort(nextSort(sort, column.key))}
                  />
                ))}
              </div>
            </div>
            <div
              role="rowgroup"
              className={classes.body}
              style={{ height: virtual.getTotalSize() }}
              onKeyDown={moveByArrows}
            >
              {shown.map((item) => {
                const row = rows[item.index] as T;
                return (
                  <div
                    key={item.key}
                    role="row"
                    aria-rowindex={item.index + 2}
                    data-index={item.index}
                    ref={virtual.measureElement}
                    className={classes.row}
                    style={{ transform: `translateY(${item.start}px)` }}
                  >
                    {columns.map((column) => (
                      <Cell key={column.key} column={column} row={row} />
                    ))}
                  </div>
                );
              })}
            </div>
          </div>
        )}
        {listing.loadingMore && <p className={classes.none}>Loading more…</p>}
        {listing.more && listing.error && !listing.loadingMore && (
          <Failed error={listing.error} retry={listing.retry} />
        )}
      </div>
    </div>
  );
}

function Cell<T>({ column, row }: { column: Column<T>; row: T }) {
  const shown = column.cell(row);
  return (
    <div role="cell" className={classes.cell} data-align={column.align}>
      <span className={classes.label} aria-hidden="true">
        {column.quiet ? "" : column.header}
      </span>
      <span className={classes.value} title={typeof shown === "string" ? shown : undefined}>
        {shown}
      </span>
    </div>
  );
}

/** Once there, a column stays: a dialog may be open in it when the last row loses its actions. */
function useWanted<T>(columns: Column<T>[], rows: T[]): Column<T>[] {
  const seen = useRef(new Set<string>());
  return useMemo(() => {
    for (const { key, wanted } of columns) if (!wanted || rows.some(wanted)) seen.current.add(key);
    return columns.filter(({ key }) => seen.current.has(key));
  }, [columns, rows]);
}

function HeadCell<T>({ column, sort, onSort }: { column: Column<T>; sort: Sort | null; onSort: () => void }) {
  const direction = sort?.key === column.key ? sort.direction : undefined;
  return (
    <div role="columnheader" aria-sort={direction} className={classes.headCell} data-align={column.align}>
      {column.value ? (
        <button type="button" className={classes.sort} onClick={onSort}>
          {column.header}
          {direction && <Icon name={direction === "ascending" ? "up" : "down"} size={12} />}
        </button>
      ) : (
        <span className={column.quiet ? "visually-hidden" : undefined}>{column.header}</span>
      )}
    </div>
  );
}

function countOf(shown: number, loaded: number, more: boolean): string {
  if (shown !== loaded) return `${shown} of ${loaded}${more ? "+" : ""}`;
  return `${loaded}${more ? "+" : ""}`;
}

/** Up and down go from the link of one row to the link of the next. */
function moveByArrows(event: KeyboardEvent<HTMLDivElement>): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const row = (event.target as HTMLElement).closest('[role="row"]');
  const index = Number(row?.getAttribute("data-index"));
  const wanted = index + (event.key === "ArrowDown" ? 1 : -1);
  const next = event.currentTarget.querySelector<HTMLElement>(`[data-index="${wanted}"] :is(a, button)`);
  if (!next) return;
  event.preventDefault();
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}
