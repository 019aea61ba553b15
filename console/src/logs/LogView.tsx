import { Button, Select, Switch, TextInput } from "@mantine/core";
import { useMemo, useState } from "react";
import type { Instance, InstanceMember } from "../api/types";
import { CopyButton } from "../parts/CopyButton";
import { explained, ProblemPanel } from "../parts/ProblemPanel";
import { memberName } from "../workloads/members";
import { LogLines } from "./LogLines";
import classes from "./LogView.module.css";
import { asText, matching } from "./lines";
import { type LogSource, MOST_FOLLOWED, MOST_READ, sourcesOf } from "./sources";
import { type Log, useLog } from "./useLog";

const ALL = "all";
const SPANS = [
  { value: "0", label: "Newest lines" },
  { value: "10", label: "Last 10 minutes" },
  { value: "60", label: "Last hour" },
  { value: "1440", label: "Last day" },
];

export default function LogView({ instance, members }: { instance: Instance; members: InstanceMember[] }) {
  const [picked, setPicked] = useState(() => firstOf(members));
  const [minutes, setMinutes] = useState("0");
  const [wantsFollow, setFollow] = useState(false);
  const [search, setSearch] = useState("");
  const [attempt, setAttempt] = useState(0);
  const chosen = picked === ALL || members.some((one) => one.id === picked) ? picked : firstOf(members);
  const all = useMemo(() => sourcesOf(members), [members]);
  const sources = chosen === ALL ? all.slice(0, MOST_READ) : [sourceOf(members, chosen)];
  const follow = wantsFollow && sources.length <= MOST_FOLLOWED;
  const log = useLog(
    {
      project_id: instance.project_id,
      instance_id: instance.id,
      members: sources.map((one) => one.member),
      minutes: Number(minutes),
      follow,
    },
    attempt,
  );
  const nameOf = (id: string) => sources.find((one) => one.member === id)?.name ?? id;
  const shownNames = sources.length > 1 ? nameOf : undefined;
  const shown = useMemo(() => matching(log.entries, search), [log.entries, search]);
  const text = asText(shown, shownNames);
  const label = chosen === ALL ? "all members" : (sources[0]?.name ?? chosen);
  return (
    <>
      <div className={classes.tools}>
        <Select
          label="Member"
          size="xs"
          data={[
            ...(members.length > 1 ? [{ value: ALL, label: "All members" }] : []),
            ...members.map((one) => ({ value: one.id, label: memberName(one) ?? one.id })),
          ]}
          value={chosen}
          onChange={(value) => value && setPicked(value)}
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
          disabled={sources.length > MOST_FOLLOWED}
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
            download={`${instance.name}-${label.replaceAll(/[^\w.-]+/g, "-")}.log`}
          >
            Download
          </Button>
          <CopyButton text={text} label="Copy the lines" />
        </div>
      </div>
      <Limits read={sources.length} hosts={chosen === ALL ? all.length : 1} instance={instance} />
      <Problems log={log} nameOf={nameOf} />
      {log.older && (
        <Button size="xs" variant="subtle" onClick={() => void log.older?.()}>
          Show older lines
        </Button>
      )}
      <LogLines
        entries={shown}
        label={label}
        follow={follow}
        nameOf={shownNames}
        empty={emptyText(log.loading, search, follow)}
      />
      <p className={classes.count} role="status">
        {log.loading ? "Asking the hosts" : countText(shown.length, search ? log.entries.length : undefined)}
      </p>
    </>
  );
}

/** What is not shown or cannot be done with so many, and what to do instead. */
function Limits({ read, hosts, instance }: { read: number; hosts: number; instance: Instance }) {
  if (hosts <= MOST_FOLLOWED) return null;
  return (
    <p className={classes.count}>
      {read < hosts && `These are the lines of ${read} of ${hosts} allocations. `}
      To follow, choose one member, or run <code>gpuaas logs {instance.name} --follow</code>.
    </p>
  );
}

function Problems({ log, nameOf }: { log: Log; nameOf: (member: string) => string }) {
  return Object.entries(log.problems).map(([member, problem]) => (
    <ProblemPanel key={member} title={nameOf(member)} problem={explained(problem)} />
  ));
}

function sourceOf(members: InstanceMember[], id: string): LogSource {
  return { member: id, name: memberName(members.find((one) => one.id === id)) ?? id };
}

/** A member that failed is what people look for. */
function firstOf(members: InstanceMember[]): string {
  return (members.find((one) => one.status === "failed") ?? members[0])?.id ?? "";
}

function emptyText(loading: boolean, search: string, follow: boolean): string {
  if (loading) return "Asking the hosts for their lines.";
  if (search) return "No line matches the search.";
  return follow ? "No lines yet. They appear here as they are written." : "No lines in this time.";
}

function countText(shown: number, of: number | undefined): string {
  const lines = `${shown.toLocaleString("en")} ${shown === 1 && of === undefined ? "line" : "lines"}`;
  return of === undefined ? lines : `${lines} of ${of.toLocaleString("en")}`;
}
