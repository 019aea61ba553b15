import { Select, TextInput } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { isOperator, tenantsOf } from "../api/rights";
import type { AuditRecord } from "../api/types";
import { useProject } from "../app/project";
import { useSession } from "../app/session";
import { codeColumn, dimColumn, openColumn, stateColumn, textColumn } from "../parts/columns";
import { Empty } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { AuditDrawer } from "./AuditDrawer";
import classes from "./AuditPage.module.css";
import { EventsOf } from "./EventsOf";
import { useAudit, useRetention } from "./queries";
import { ResourceLink } from "./ResourceLink";
import { recordName, useResourceNames } from "./resourceNames";
import { type AuditSearch, OUTCOMES, type Reach, SOURCES, searchOf } from "./search";

export function AuditPage() {
  const project = useProject();
  const { user } = useSession();
  const search = searchOf(useSearch({ strict: false }) as Record<string, unknown>);
  const [reach, setReach] = useState<Reach>("project");
  const [shown, setShown] = useState<AuditRecord | null>(null);
  const listing = useAudit(reach, project, search);
  const retention = useRetention();
  const names = useResourceNames(project);
  const kept = retention
    ? ` Records are kept for ${retention.audit} days, events for ${retention.event} days.`
    : "";
  const reaches: { value: Reach; label: string }[] = [
    { value: "project", label: "This project" },
    ...(isOperator(user) || tenantsOf(user).includes(project.tenant_id)
      ? [{ value: "tenant" as const, label: "The tenant" }]
      : []),
    ...(isOperator(user) ? [{ value: "platform" as const, label: "The platform" }] : []),
  ];
  const columns = useMemo<Column<AuditRecord>[]>(
    () => [
      openColumn(
        "at",
        "When",
        (one) => one.at,
        (one) => setShown(one),
        "6rem",
        (one) => <RelativeTime at={one.at} />,
      ),
      textColumn("who", "Actor", actorOf, "minmax(9rem, 1.5fr)", (one) => (
        <span title={one.actor_id}>{actorOf(one)}</span>
      )),
      codeColumn("action", "Action", (one) => one.action, "minmax(13rem, 2fr)"),
      stateColumn("outcome", "Outcome", (one) => one.outcome, "6.5rem"),
      textColumn(
        "resource",
        "Resource",
        (one) => recordName(one, names) ?? one.resource_id,
        "minmax(10rem, 2fr)",
        (one) => <ResourceLink id={one.resource_id} name={recordName(one, names)} />,
      ),
      dimColumn("reason", "Reason", (one) => one.reason, "minmax(9rem, 2fr)"),
    ],
    [names],
  );
  return (
    <>
      <PageHead title="Audit" lead={`Every change and every refusal.${kept}`} />
      <div className="stack">
        <Filters search={search} reach={reach} reaches={reaches} onReach={setReach} />
        {search.correlation && <EventsOf project={project.id} correlation={search.correlation} />}
        <ResourceTable
          label="Audit records"
          columns={columns}
          listing={listing}
          rowId={(one) => one.id}
          height="calc(100dvh - 21rem)"
          empty={
            <Empty
              icon="audit"
              title="No matching records"
              text="Choose a longer period, or remove a filter."
            />
          }
        />
      </div>
      {shown && <AuditDrawer record={shown} names={names} onClose={() => setShown(null)} />}
    </>
  );
}

function actorOf(one: AuditRecord): string {
  return one.actor_name || one.actor_id;
}

interface FilterProps {
  search: AuditSearch;
  reach: Reach;
  reaches: { value: Reach; label: string }[];
  onReach: (reach: Reach) => void;
}

function Filters({ search, reach, reaches, onReach }: FilterProps) {
  const navigate = useNavigate();
  const set = (field: keyof AuditSearch, value: string | null) =>
    void navigate({
      to: ".",
      search: (before: object) => ({ ...before, [field]: value || undefined }),
      replace: true,
    } as never);
  const text = (
    field: "actor" | "action" | "correlation" | "resource",
    label: string,
    placeholder: string,
  ) => (
    <TextInput
      size="xs"
      label={label}
      placeholder={placeholder}
      key={`${field} ${search[field] ?? ""}`}
      defaultValue={search[field] ?? ""}
      onBlur={(event) => set(field, event.currentTarget.value.trim())}
      onKeyDown={(event) => event.key === "Enter" && set(field, event.currentTarget.value.trim())}
    />
  );
  return (
    <search className={classes.filters} aria-label="Audit filters">
      {reaches.length > 1 && (
        <Select
          size="xs"
          label="Scope"
          data={reaches}
          value={reach}
          allowDeselect={false}
          onChange={(next) => onReach(next as Reach)}
        />
      )}
      {text("actor", "Actor", "usr_… or sva_…")}
      {text("action", "Action", "allocation_release")}
      {text("resource", "Resource", "alc_…")}
      {text("correlation", "Correlation ID", "of a request")}
      <Select
        size="xs"
        label="Outcome"
        placeholder="Any"
        clearable
        data={OUTCOMES}
        value={search.outcome ?? null}
        onChange={(next) => set("outcome", next)}
      />
      <Select
        size="xs"
        label="Source"
        placeholder="Any"
        clearable
        data={SOURCES}
        value={search.source ?? null}
        onChange={(next) => set("source", next)}
      />
      <TextInput
        size="xs"
        type="datetime-local"
        label="Since"
        value={search.since ?? ""}
        onChange={(event) => set("since", event.currentTarget.value)}
      />
      <TextInput
        size="xs"
        type="datetime-local"
        label="Before"
        value={search.before ?? ""}
        onChange={(event) => set("before", event.currentTarget.value)}
      />
    </search>
  );
}
