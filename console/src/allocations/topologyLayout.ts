// Where each GPU of a host is drawn: node → NUMA nodes side by side → NVLink groups below each other → GPUs in rows.
import type { HostGpu } from "../api/types";

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface GpuPlace extends Box {
  gpu: HostGpu;
}

export interface LinkPlace extends Box {
  /** Null: these GPUs are linked to no other. */
  group: string | null;
  gpus: GpuPlace[];
}

export interface NumaPlace extends Box {
  /** Null: the host does not say. */
  numa: number | null;
  links: LinkPlace[];
}

export interface Picture {
  width: number;
  height: number;
  numas: NumaPlace[];
}

const GPU = { width: 56, height: 40, gap: 8 };
const PAD = 10;
const HEAD = 20;
const GAP = 12;
const PER_ROW = 4;

/** NUMA nodes go side by side while there is room, and below each other on a phone. */
export function pictureOf(gpus: readonly HostGpu[], room = Number.POSITIVE_INFINITY): Picture {
  const numas: NumaPlace[] = [];
  let [x, y, line] = [0, 0, 0];
  for (const [numa, inside] of grouped(gpus, (gpu) => gpu.numa_node)) {
    const size = numaAt(0, 0, numa, inside);
    if (x > 0 && x + size.width > room) [x, y, line] = [0, y + line + GAP, 0];
    numas.push(numaAt(x, y, numa, inside));
    x += size.width + GAP;
    line = Math.max(line, size.height);
  }
  const width = Math.max(0, ...numas.map((one) => one.x + one.width));
  const height = Math.max(0, ...numas.map((one) => one.y + one.height));
  return { width, height, numas };
}

/** A picture may shrink a little before its parts are put below each other: what is side by side is seen at once. */
const SHRINKS = 0.7;

export function fittingPicture(gpus: readonly HostGpu[], room: number): Picture {
  const wide = pictureOf(gpus);
  return room === 0 || wide.width * SHRINKS <= room ? wide : pictureOf(gpus, room);
}

function numaAt(x: number, top: number, numa: number | null, gpus: HostGpu[]): NumaPlace {
  const links: LinkPlace[] = [];
  let y = top + HEAD + PAD;
  for (const [group, inside] of grouped(gpus, (gpu) => gpu.nvlink_group)) {
    const place = linkAt(x + PAD, y, group, inside);
    links.push(place);
    y += place.height + GAP;
  }
  const width = Math.max(...links.map((one) => one.width)) + 2 * PAD;
  return {
    x,
    y: top,
    width,
    height: y - top - GAP + PAD,
    numa,
    links: links.map((one) => ({ ...one, width: width - 2 * PAD })),
  };
}

function linkAt(x: number, y: number, group: string | null, gpus: HostGpu[]): LinkPlace {
  const columns = Math.min(PER_ROW, gpus.length);
  const rows = Math.ceil(gpus.length / PER_ROW);
  const places = gpus.map((gpu, index) => ({
    gpu,
    x: x + PAD + (index % PER_ROW) * (GPU.width + GPU.gap),
    y: y + HEAD + Math.floor(index / PER_ROW) * (GPU.height + GPU.gap),
    width: GPU.width,
    height: GPU.height,
  }));
  const width = columns * (GPU.width + GPU.gap) - GPU.gap + 2 * PAD;
  return { x, y, width, height: HEAD + rows * (GPU.height + GPU.gap) - GPU.gap + PAD, group, gpus: places };
}

/** By what `of` says, in that order; what says nothing comes last. */
function grouped<K extends string | number>(
  gpus: readonly HostGpu[],
  of: (gpu: HostGpu) => K | null,
): [K | null, HostGpu[]][] {
  const found = new Map<K | null, HostGpu[]>();
  for (const gpu of gpus.toSorted((one, other) => one.slot_index - other.slot_index)) {
    found.set(of(gpu), [...(found.get(of(gpu)) ?? []), gpu]);
  }
  return [...found].sort(([one], [other]) => compare(one, other));
}

function compare(one: string | number | null, other: string | number | null): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  return one < other ? -1 : one > other ? 1 : 0;
}

/** The picture in words: for those who do not see it, and to search for. */
export function wordsOf(gpus: readonly HostGpu[]): string {
  const mine = gpus.filter((gpu) => gpu.claimed);
  const parts = grouped(mine, (gpu) => gpu.numa_node).map(([numa, inside]) => {
    const where = numa === null ? "" : ` on NUMA node ${numa}`;
    return `GPU ${inside.map((gpu) => gpu.slot_index).join(", ")}${where}`;
  });
  const links = new Set(mine.map((gpu) => gpu.nvlink_group).filter((group) => group !== null));
  const linked =
    links.size === 0 ? "" : links.size === 1 ? ", in one NVLink group" : `, in ${links.size} NVLink groups`;
  return `${mine.length} of ${gpus.length} GPUs of the host: ${parts.join("; ") || "none"}${linked}.`;
}
