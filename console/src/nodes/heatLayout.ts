// Where each node and each of its GPUs is drawn on the map of the fleet.
import type { MappedSlot, NodeSlots } from "../api/types";

export type SlotStatus = MappedSlot["status"];

/** From what is well to what needs a person; the legend has this order too. */
export const STATUSES: SlotStatus[] = [
  "claimed",
  "available",
  "cleaning",
  "discovered",
  "disabled",
  "cleanup_blocked",
];

export interface Tile {
  node: NodeSlots;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface HeatMap {
  width: number;
  height: number;
  /** Tiles in one line, so that the arrow keys know what is above and below. */
  perLine: number;
  /** Height of a node's name above its GPUs; none in a large fleet. */
  head: number;
  cell: number;
  tiles: Tile[];
  /** All GPUs of one status as one shape: six shapes are drawn however large the fleet is. */
  shapes: { status: SlotStatus; path: string; count: number }[];
}

const PER_ROW = 8;
const GAP = 2;

/** Small fleets have names and large cells; ten thousand GPUs still fit on a screen or two. */
function sizeFor(nodes: number): { cell: number; head: number; margin: number } {
  if (nodes <= 48) return { cell: 18, head: 18, margin: 16 };
  if (nodes <= 250) return { cell: 11, head: 0, margin: 9 };
  return { cell: 6, head: 0, margin: 6 };
}

export function heatMapOf(nodes: readonly NodeSlots[], width: number): HeatMap {
  const { cell, head, margin } = sizeFor(nodes.length);
  const most = Math.max(1, ...nodes.map((node) => node.slots.length));
  const columns = Math.min(PER_ROW, most);
  const tileWidth = columns * (cell + GAP) - GAP;
  const tileHeight = head + Math.ceil(most / PER_ROW) * (cell + GAP) - GAP;
  const perLine = Math.max(1, Math.floor((width + margin) / (tileWidth + margin)));
  const tiles = nodes.map((node, index) => ({
    node,
    x: (index % perLine) * (tileWidth + margin),
    y: Math.floor(index / perLine) * (tileHeight + margin),
    width: tileWidth,
    height: tileHeight,
  }));
  const lines = Math.ceil(nodes.length / perLine);
  return {
    width: Math.min(nodes.length, perLine) * (tileWidth + margin) - margin,
    height: Math.max(0, lines * (tileHeight + margin) - margin),
    perLine,
    head,
    cell,
    tiles,
    shapes: shapesOf(tiles, head, cell),
  };
}

function shapesOf(tiles: Tile[], head: number, cell: number): HeatMap["shapes"] {
  const paths = new Map<SlotStatus, { path: string[]; count: number }>(
    STATUSES.map((one) => [one, { path: [], count: 0 }]),
  );
  for (const { node, x, y } of tiles) {
    node.slots.forEach((slot, index) => {
      const left = x + (index % PER_ROW) * (cell + GAP);
      const top = y + head + Math.floor(index / PER_ROW) * (cell + GAP);
      const shape = paths.get(slot.status);
      if (!shape) return;
      shape.path.push(`M${left} ${top}h${cell}v${cell}h-${cell}z`);
      shape.count++;
    });
  }
  return [...paths].map(([status, { path, count }]) => ({ status, path: path.join(""), count }));
}

/** Which tile the arrow keys lead to. */
export function stepFrom(index: number, key: string, perLine: number, count: number): number | null {
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: perLine, ArrowUp: -perLine }[key];
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  if (step === undefined) return null;
  const next = index + step;
  return next >= 0 && next < count ? next : index;
}

/** "node-3: 8 GPUs, 6 claimed, 2 available; cordoned". */
export function sentenceOf(node: NodeSlots): string {
  const counts = STATUSES.map(
    (status) => [status, node.slots.filter((slot) => slot.status === status).length] as const,
  );
  const parts = counts
    .filter(([, count]) => count > 0)
    .map(([status, count]) => `${count} ${status.replaceAll("_", " ")}`);
  const state = [node.status === "ready" ? "" : node.status, node.cordoned ? "cordoned" : ""]
    .filter(Boolean)
    .join(", ");
  return `${node.name}: ${node.slots.length} GPUs${parts.length ? `, ${parts.join(", ")}` : ""}${state ? `; ${state}` : ""}`;
}
