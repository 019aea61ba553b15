// What tables of people show of each.
import type { Member } from "../api/types";
import { dimColumn, enabledColumn, labelColumn, textColumn, timeColumn } from "../parts/columns";
import type { Column } from "../parts/ResourceTable";

/** Of users and members alike. */
export const NAMED: Column<{ name: string; email: string | null }>[] = [
  textColumn("name", "Name", (one) => one.name, "minmax(9rem, 1.5fr)"),
  dimColumn("email", "E-mail", (one) => one.email, "minmax(11rem, 2fr)"),
];

export const MEMBER: Column<Member>[] = [
  ...NAMED,
  labelColumn("role", "Role", (one) => one.role, "9rem"),
  enabledColumn(),
  timeColumn("since", "Since", (one) => one.created_at, "6rem"),
];
