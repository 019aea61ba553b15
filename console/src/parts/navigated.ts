// The first page has the focus where the browser puts it; the pages after it take it.
let navigated = false;

export function markNavigated(): void {
  navigated = true;
}

export function wasNavigated(): boolean {
  return navigated;
}
