import { useSyncExternalStore } from "react";

// One clock for the whole page, however many things show an age.
const watchers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let now = Date.now();

function subscribe(watcher: () => void): () => void {
  watchers.add(watcher);
  now = Date.now();
  timer ??= setInterval(() => {
    now = Date.now();
    for (const one of watchers) one();
  }, 1000);
  return () => {
    watchers.delete(watcher);
    if (watchers.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** The time in milliseconds, which moves on every second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}
