import { useMemo } from "react";
import type { TimelineEntry } from "../api/types";
import { Empty, Loaded } from "../parts/Loaded";
import { Panel } from "../parts/Panel";
import { PhaseChart, type Span } from "../parts/PhaseChart";
import { RelativeTime } from "../parts/RelativeTime";
import { StateBadge } from "../parts/StateBadge";
import { labelOf } from "../parts/states";
import { useTimeline } from "./queries";
import classes from "./Timeline.module.css";

/** What happened, live: the states, and each phase on the host with its time. */
export function Timeline({ project, allocation }: { project: string; allocation: string }) {
  const timeline = useTimeline(project, allocation);
  return (
    <Panel title="Timeline">
      <Loaded query={timeline}>
        {({ items }) =>
          items.length === 0 ? <Empty title="Nothing has happened yet" /> : <Entries items={items} />
        }
      </Loaded>
    </Panel>
  );
}

function Entries({ items }: { items: TimelineEntry[] }) {
  const spans = useMemo(() => spansOf(items), [items]);
  const states = items.filter((entry) => entry.kind === "state").toReversed();
  return (
    <div className="stack">
      <PhaseChart spans={spans} label="Phases and their duration" />
      <ol className={classes.states}>
        {states.map((entry) => (
          <li key={`${entry.at}${entry.name}`}>
            <StateBadge
              state={entry.name}
              {...(entry.status === "current" ? {} : { tone: "quiet" as const })}
            />
            <span className={classes.detail}>{entry.failure?.message ?? entry.detail ?? ""}</span>
            <span className="dim">
              <RelativeTime at={entry.at} />
            </span>
          </li>
        ))}
      </ol>
    </div>
  );
}

/** What took time: host phases, and the states that are no rest. A state in which it simply is has no length worth drawing. */
export function spansOf(items: TimelineEntry[]): Span[] {
  const resting = new Set(["active", "released", "failed", "release_failed"]);
  return items
    .filter((entry) => entry.kind === "phase" || !resting.has(entry.name))
    .map((entry, index) => ({
      key: `${index}`,
      name: entry.kind === "state" ? labelOf(entry.name) : (entry.name.split("/").pop() ?? entry.name),
      from: entry.at,
      to: entry.finished_at,
      status: entry.kind === "state" ? "claimed" : entry.status,
      detail: entry.detail ?? entry.name,
    }));
}
