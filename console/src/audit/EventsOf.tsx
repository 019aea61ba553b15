import { Text } from "@mantine/core";
import { Loaded } from "../parts/Loaded";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import classes from "./AuditPage.module.css";
import { useEventsOf } from "./queries";
import { ResourceLink } from "./ResourceLink";

/** The events that one request caused, of those that are recent. */
export function EventsOf({ project, correlation }: { project: string; correlation: string }) {
  const query = useEventsOf(project, correlation);
  return (
    <Panel title="Events of this request">
      <Loaded query={query}>
        {(events) =>
          events.length === 0 ? (
            <Text size="sm" c="dimmed">
              No recent event belongs to this request.
            </Text>
          ) : (
            <ol className={classes.events}>
              {events.map((event) => (
                <li key={event.id}>
                  <code>{event.type}</code>
                  <ResourceLink id={event.subject} />
                  <span className="dim">
                    <RelativeTime at={event.time} />
                  </span>
                </li>
              ))}
            </ol>
          )
        }
      </Loaded>
    </Panel>
  );
}
