import { useQuery } from "@tanstack/react-query";
import { ApiProblem } from "../api/problem";
import { Line } from "./LogLines";
import classes from "./LogView.module.css";
import { readLog } from "./useLog";

const LAST = 8;

interface Props {
  instance: { project_id: string; id: string };
  member: string;
  name: string;
  /** The lines up to this time, or the newest. */
  until?: string | undefined;
  /** Another failure has other lines: they are read again when this changes. */
  of: string | null;
}

/** What a member wrote before it failed. It is read once, since each reading is recorded. */
export function LastLines({ instance, member, name, until, of }: Props) {
  const query = useQuery({
    queryKey: ["last-lines", instance.id, member, of, until],
    queryFn: ({ signal }) =>
      readLog(
        { project_id: instance.project_id, instance_id: instance.id },
        { member, limit: LAST, until },
        signal,
      ),
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    retry: false,
  });
  const lines = query.data?.lines ?? [];
  return (
    <figure className={classes.last}>
      <figcaption>{caption(name, query.isPending, lines.length, query.error)}</figcaption>
      {lines.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        <div className={classes.excerpt} role="group" aria-label={`Last log lines of ${name}`} tabIndex={0}>
          {lines.map((line) => (
            <Line key={line.cursor} line={line} />
          ))}
        </div>
      )}
    </figure>
  );
}

function caption(name: string, pending: boolean, count: number, error: Error | null): string {
  if (pending) return `Asking the host for the last log lines of ${name}.`;
  if (error)
    return `No log lines of ${name}: ${error instanceof ApiProblem ? error.document.detail : error.message}`;
  return count === 0 ? `${name} has written no log lines.` : `Last log lines of ${name}`;
}
