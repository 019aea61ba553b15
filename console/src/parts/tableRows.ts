// Which rows a table shows, and in which order.
interface Valued<T> {
  key: string;
  value?: (row: T) => string | number | null;
}

export interface Sort {
  key: string;
  direction: "ascending" | "descending";
}

/** Up, then down, then as the API has it. */
export function nextSort(before: Sort | null, key: string): Sort | null {
  if (before?.key !== key) return { key, direction: "ascending" };
  return before.direction === "ascending" ? { key, direction: "descending" } : null;
}

export function filtered<T>(rows: T[], columns: Valued<T>[], wanted: string): T[] {
  if (!wanted) return rows;
  return rows.filter((row) =>
    columns.some((column) =>
      String(column.value?.(row) ?? "")
        .toLowerCase()
        .includes(wanted),
    ),
  );
}

export function sorted<T>(rows: T[], columns: Valued<T>[], sort: Sort | null): T[] {
  const value = sort && columns.find((column) => column.key === sort.key)?.value;
  if (!value) return rows;
  const sign = sort.direction === "ascending" ? 1 : -1;
  return rows.toSorted((one, other) => sign * compare(value(one), value(other)));
}

const words = new Intl.Collator("en", { numeric: true });

function compare(one: string | number | null, other: string | number | null): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  if (typeof one === "number" && typeof other === "number") return one - other;
  return words.compare(String(one), String(other));
}
