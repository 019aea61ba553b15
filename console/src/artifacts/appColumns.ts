// What tables of apps show of each.
import type { App } from "../api/types";
import { openColumn, textColumn } from "../parts/columns";
import type { Column } from "../parts/ResourceTable";

export function appColumn(open: (app: App) => void): Column<App> {
  return openColumn("name", "App", (one) => one.display_name, open, "minmax(9rem, 2fr)");
}

export function visibilityColumn(width: string): Column<App> {
  return textColumn("seen", "Visibility", (one) => one.visibility, width);
}
