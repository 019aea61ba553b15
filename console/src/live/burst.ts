// One change often makes several events: they are dealt with together, still sooner than anybody would notice.
import type { Event } from "../api/types";

const GATHER_MS = 100;

export class Burst {
  private gathered: Event[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly deal: (events: Event[]) => void) {}

  add(event: Event): void {
    this.gathered.push(event);
    this.timer ??= setTimeout(() => this.flush(), GATHER_MS);
  }

  drop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.gathered = [];
  }

  private flush(): void {
    const events = this.gathered;
    this.drop();
    this.deal(events);
  }
}
