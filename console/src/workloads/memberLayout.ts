// Where the picture puts components and members: a column for each component, those that others depend on first.
import type { InstanceMember } from "../api/types";
import type { Component } from "../catalog/manifest";

export interface Placed {
  id: string;
  x: number;
  y: number;
  member: InstanceMember;
}

export interface ColumnPlaced {
  key: string;
  label: string;
  x: number;
  members: Placed[];
  hidden: number;
}

export interface Layout {
  width: number;
  height: number;
  columns: ColumnPlaced[];
  edges: { from: Placed; to: Placed }[];
}

export const BOX = { width: 168, height: 40, gapX: 96, gapY: 12, top: 34, margin: 8 };
/** More than these are counted, not drawn: a picture of a thousand boxes shows nothing. */
export const MOST = 40;

export function layoutOf(components: Component[], members: InstanceMember[]): Layout {
  const columns = ordered(components, members).map((component, index): ColumnPlaced => {
    const own = members.filter((one) => one.component_key === component.key);
    const x = BOX.margin + index * (BOX.width + BOX.gapX);
    const placed = own.slice(0, MOST).map((member, row) => ({
      id: member.id,
      x,
      y: BOX.top + row * (BOX.height + BOX.gapY),
      member,
    }));
    return {
      key: component.key,
      label: component.display_name ?? component.key,
      x,
      members: placed,
      hidden: own.length - placed.length,
    };
  });
  const tallest = Math.max(1, ...columns.map((column) => column.members.length + (column.hidden ? 1 : 0)));
  return {
    width: 2 * BOX.margin + columns.length * (BOX.width + BOX.gapX) - BOX.gapX,
    height: BOX.top + tallest * (BOX.height + BOX.gapY) + BOX.margin,
    columns,
    edges: edgesOf(components, columns),
  };
}

/** Components that are not in the manifest (it may not be readable) come last, by the names of their members. */
function ordered(components: Component[], members: InstanceMember[]): Component[] {
  const known = new Set(components.map((one) => one.key));
  const others = [...new Set(members.map((one) => one.component_key))].filter((key) => !known.has(key));
  const all = [...components, ...others.map((key) => ({ key, min: 0, max: 0 }))];
  const depth = (component: Component, seen = new Set<string>()): number => {
    if (seen.has(component.key)) return 0;
    seen.add(component.key);
    const below = (component.depends_on ?? []).flatMap((key) => all.filter((one) => one.key === key));
    return below.length ? 1 + Math.max(...below.map((one) => depth(one, seen))) : 0;
  };
  return all
    .map((one) => ({ one, level: depth(one) }))
    .sort((a, b) => a.level - b.level)
    .map(({ one }) => one);
}

function edgesOf(components: Component[], columns: ColumnPlaced[]): Layout["edges"] {
  return components.flatMap((component) => {
    const own = columns.find((one) => one.key === component.key)?.members ?? [];
    const wanted = columns
      .filter((one) => component.depends_on?.includes(one.key))
      .flatMap((one) => one.members);
    return own.flatMap((to) => wanted.map((from) => ({ from, to })));
  });
}
