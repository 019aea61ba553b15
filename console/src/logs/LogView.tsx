import { Button, Select, Switch, TextInput } from "@mantine/core";
import { useEffect, useMemo, useRef, useState } from "react";
import type { Instance, InstanceMember } from "../api/types";
import { CopyButton } from "../parts/CopyButton";
import { explained, ProblemPanel } from "../parts/ProblemPanel";
import { memberName } from "../workloads/members";
import classes from "./LogView.module.css";
import { asText, clockOf, type Entry, gapText, isGap, keyOf, matching } from "./lines";
import { useLog } from "./useLog";

const SPANS = [
  { value: "0", label: "Newest lines" },
  { value: "10", label: "Last 10 minutes" },
  { value: "60", label: "Last hour" },
  { value: "1440", label: "Last day" },
];
const TONES: Record<string, string> = {
  emergency: "bad",
  alert: "bad",
  critical: "bad",
  error: "bad",
  warning: "warn",
  debug: "dim",
};
/** So close to the end, the view stays at the end when lines come. */
const NEAR_END = 40;

export default function LogView({ instance, members }: { instance: Instance; members: InstanceMember[] }) {
  const [chosen, setChosen] = useState(() => firstOf(members));
  const [minutes, setMinutes] = useState("0");
  const [follow, setFollow] = useState(false);
  const [search, setSearch] = useState("");
  const [attempt, setAttempt] = useState(0);
  const member = members.some((one) => one.id === chosen) ? chosen : firstOf(members);
  const log = useLog(
    { project_id: instance.project_id, instance_id: instance.id, member, minutes: Number(minutes), follow },
    attempt,
  );
  const shown = useMemo(() => matching(log.entries, search), [log.entries, search]);
  const text = useMemo(() => asText(shown), [shown]);
  const name = memberName(members.find((one) => one.id === member)) ?? member;
  return (
    <>
      <div className={classes.tools}>
        <Select
          label="Member"
          size="xs"
          data={members.map((one) => ({ value: one.id, label: memberName(one) ?? one.id }))}
          value={member}
          onChange={(value) => value && setChosen(value)}
          allowDeselect={false}
        />
        <Select
          label="Time"
          size="xs"
          data={SPANS}
          value={minutes}
          onChange={(value) => value && setMinutes(value)}
          allowDeselect={false}
        />
        <TextInput
          label="Search in these lines"
          size="xs"
          type="search"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
        <Switch
          label="Follow"
          size="sm"
          checked={follow}
          onChange={(event) => setFollow(event.currentTarget.checked)}
        />
        <div className={classes.buttons}>
          <Button size="xs" variant="default" onClick={() => setAttempt(attempt + 1)} disabled={follow}>
            Refresh
          </Button>
          <Button
            size="xs"
            variant="default"
            component="a"
            href={`data:text/plain;charset=utf-8,${encodeURIComponent(text)}`}
            download={`${instance.name}-${name.replace("/", "-")}.log`}
          >
            Download
          </Button>
          <CopyButton text={text} label="Copy the lines" />
        </div>
      </div>
      {log.problem && <ProblemPanel problem={explained(log.problem)} />}
      {log.older && (
        <Button size="xs" variant="subtle" onClick={() => void log.older?.()}>
          Show older lines
        </Button>
      )}
      <Lines entries={shown} name={name} follow={follow} empty={emptyText(log.loading, search, follow)} />
      <p className={classes.count} role="status">
        {log.loading
          ? "Asking the host"
          : `${shown.length.toLocaleString("en")} lines${search ? ` of ${log.entries.length.toLocaleString("en")}` : ""}`}
      </p>
    </>
  );
}

/** A member that failed is what people look for. */
function firstOf(members: InstanceMember[]): string {
  return (members.find((one) => one.status === "failed") ?? members[0])?.id ?? "";
}

function emptyText(loading: boolean, search: string, follow: boolean): string {
  if (loading) return "Asking the host for its lines.";
  if (search) return "No line matches the search.";
  return follow ? "Nothing yet. Lines appear here as they are written." : "Nothing was written in this time.";
}

function Lines(props: { entries: Entry[]; name: string; follow: boolean; empty: string }) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the box grows with the entries
  useEffect(() => {
    const element = box.current;
    if (element && atEnd.current) element.scrollTop = element.scrollHeight;
  }, [props.entries]);
  const scrolled = () => {
    const element = box.current;
    if (element) atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END;
  };
  return (
    <div
      ref={box}
      className={classes.lines}
      role="log"
      aria-live={props.follow ? "polite" : "off"}
      aria-label={`Log of ${props.name}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
      tabIndex={0}
      onScroll={scrolled}
    >
      {props.entries.length === 0 && <p className={classes.empty}>{props.empty}</p>}
      {props.entries.map((entry) =>
        isGap(entry) ? (
          <div key={keyOf(entry)} className={classes.gap}>
            {gapText(entry.leftOut)}
          </div>
        ) : (
          <div key={keyOf(entry)} className={classes.line} data-tone={TONES[entry.level ?? ""]}>
            <time className={classes.time} dateTime={entry.at} title={entry.at}>
              {clockOf(entry.at)}
            </time>
            <span className={classes.source} title={entry.source}>
              {entry.source.replace(/\.service$/, "")}
            </span>
            <span className={classes.text}>
              {entry.text}
              {entry.cut && " …"}
            </span>
          </div>
        ),
      )}
    </div>
  );
}
