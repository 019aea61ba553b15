// How many GPUs were gpus when, from the allocations themselves: each counts from when it was claimed to when it ended.
export interface AllocationSpan {
  created_at: string;
  ended_at: string | null;
  gpu_count: number;
}

export interface Steps {
  /** Seconds since 1970, as uPlot wants them. */
  times: number[];
  gpus: number[];
}

export function gpusOverTime(allocations: readonly AllocationSpan[], from: number, to: number): Steps {
  const changes = new Map<number, number>();
  const change = (at: number, by: number) => changes.set(at, (changes.get(at) ?? 0) + by);
  for (const one of allocations) {
    const begin = Date.parse(one.created_at);
    const end = one.ended_at ? Date.parse(one.ended_at) : Number.POSITIVE_INFINITY;
    if (end <= from || begin > to) continue;
    change(Math.max(begin, from), one.gpu_count);
    if (end <= to) change(end, -one.gpu_count);
  }
  const steps: Steps = { times: [], gpus: [] };
  let gpus = 0;
  for (const at of [...new Set([from, ...changes.keys(), to])].sort((one, other) => one - other)) {
    gpus += changes.get(at) ?? 0;
    steps.times.push(at / 1000);
    steps.gpus.push(gpus);
  }
  return steps;
}

/** The same in words, for those who do not see the line. */
export function wordsOf({ gpus }: Steps): string {
  return `${gpus.at(-1) ?? 0} GPUs are allocated now; at most ${Math.max(0, ...gpus)} and at least ${Math.min(...gpus, Number.POSITIVE_INFINITY)} in this time.`;
}
