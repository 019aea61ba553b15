// One way for every page to be empty, loading, refused or broken.
import { Button, Loader } from "@mantine/core";
import type { ReactNode } from "react";
import { ApiProblem } from "../api/problem";
import { Icon, type IconName } from "./Icon";
import classes from "./Loaded.module.css";
import { explained, ProblemPanel } from "./ProblemPanel";
import { labelOf } from "./states";

interface Query<T> {
  data: T | undefined;
  error: Error | null;
  isPending: boolean;
  refetch: () => unknown;
}

/** What a query has found; until then, and when it found nothing, what a person can know about that. */
export function Loaded<T>({ query, children }: { query: Query<T>; children: (data: T) => ReactNode }) {
  if (query.data !== undefined) return children(query.data);
  if (query.error) return <Failed error={query.error} retry={() => query.refetch()} />;
  return <Loading />;
}

export function Loading({ label = "Loading" }: { label?: string }) {
  return (
    <div className={classes.state} role="status">
      <Loader size="sm" type="dots" />
      <span className="visually-hidden">{label}</span>
    </div>
  );
}

export function Failed({ error, retry }: { error: Error; retry?: () => void }) {
  if (error instanceof ApiProblem && error.denied) return <Denied problem={error} />;
  if (error instanceof ApiProblem && error.document.status === 404) {
    return <Empty icon="search" title="Not found" text={error.document.detail} />;
  }
  return (
    <ProblemPanel problem={explained(error)}>
      {retry && (
        <Button size="xs" variant="default" onClick={retry}>
          Try again
        </Button>
      )}
    </ProblemPanel>
  );
}

export function Denied({ problem }: { problem: ApiProblem }) {
  const roles = rolesOf(problem);
  return (
    <Empty icon="key" title="You don’t have access" text={problem.document.detail}>
      {roles.length > 0 ? (
        <p className={classes.hint}>
          Requires one of: {roles.map(labelOf).join(", ")}. Ask an administrator.
        </p>
      ) : (
        <p className={classes.hint}>{problem.document.next_step}</p>
      )}
    </Empty>
  );
}

/** What the refusal says would have done; scopes are for programs, and of no use to a person. */
function rolesOf(problem: ApiProblem): string[] {
  const needs = problem.document.details?.needs;
  return Array.isArray(needs) ? needs.filter((one) => typeof one === "string" && !one.includes(":")) : [];
}

export function Empty(props: { icon?: IconName; title: string; text?: ReactNode; children?: ReactNode }) {
  return (
    <div className={classes.state}>
      <span className={classes.icon}>
        <Icon name={props.icon ?? "box"} size={28} />
      </span>
      <p className={classes.title}>{props.title}</p>
      {props.text && <p className={classes.hint}>{props.text}</p>}
      {props.children}
    </div>
  );
}
