import { Button } from "@mantine/core";
import { useState } from "react";
import type { TimelineEvent } from "../api/types";
import { PageLink } from "../parts/PageLink";
import { RelativeTime } from "../parts/RelativeTime";
import { labelOf, type Tone, toneOf } from "../parts/states";
import classes from "./Timeline.module.css";

const FIRST = 12;
const GOOD_NEWS = new Set(["added", "start_completed"]);

/** What happened, newest first. */
export function Timeline({ events, nameOf }: { events: TimelineEvent[]; nameOf: (id: string) => string }) {
  const [all, setAll] = useState(false);
  const newest = events.toReversed();
  return (
    <>
      <ol className={classes.list} aria-label="Events, newest first">
        {(all ? newest : newest.slice(0, FIRST)).map((event) => (
          <li key={event.id} className={classes.event} data-tone={toneOfEvent(event)}>
            <span className={classes.mark} aria-hidden="true" />
            <span className={classes.words}>
              <Words event={event} nameOf={nameOf} />
            </span>
            <span className={classes.time}>
              <RelativeTime at={event.at} />
            </span>
          </li>
        ))}
      </ol>
      {newest.length > FIRST && (
        <Button size="xs" variant="subtle" mt="xs" onClick={() => setAll(!all)}>
          {all ? "Fewer" : `All ${newest.length}`}
        </Button>
      )}
    </>
  );
}

/** An operation that runs is being worked on; a workload that runs is well. */
function toneOfEvent(event: TimelineEvent): Tone {
  if (event.type === "operation.running") return "busy";
  const change = changeOf(event);
  return GOOD_NEWS.has(change) ? "good" : toneOf(change);
}

function changeOf(event: TimelineEvent): string {
  return event.type.split(".")[1] ?? event.type;
}

function Words({ event, nameOf }: { event: TimelineEvent; nameOf: (id: string) => string }) {
  const [noun = ""] = event.type.split(".");
  const change = labelOf(changeOf(event)).toLowerCase();
  if (noun === "operation") {
    const kind = typeof event.data.kind === "string" ? event.data.kind : "operation";
    return (
      <>
        <PageLink to={`/operations/${event.subject}`}>{labelOf(kind)}</PageLink> {change}
      </>
    );
  }
  if (noun === "member") return `${nameOf(event.subject)} ${change}`;
  return `${labelOf(noun)} ${change}`;
}
