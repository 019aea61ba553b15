import type { ReactNode } from "react";
import { ApiProblem } from "../api/problem";
import { CopyButton } from "./CopyButton";
import { Icon } from "./Icon";
import { PageLink } from "./PageLink";
import classes from "./ProblemPanel.module.css";

export interface Explained {
  code: string;
  message: string;
  next_step: string;
  correlation_id?: string | null | undefined;
  retryable?: boolean;
}

/** Why something failed: the sentence, what to do next, and the id that finds everything about it. */
export function ProblemPanel(props: {
  problem: Explained;
  title?: string;
  children?: ReactNode;
  tone?: "bad" | "warn";
}) {
  const { problem } = props;
  return (
    <div className={classes.panel} data-tone={props.tone ?? "bad"} role="alert">
      <span className={classes.icon}>
        <Icon name="alert" size={18} />
      </span>
      <div className={classes.words}>
        {props.title && <p className={classes.title}>{props.title}</p>}
        <p className={classes.message}>{problem.message}</p>
        <p className={classes.next}>
          <strong>Next step:</strong> {problem.next_step}
        </p>
        <p className={classes.facts}>
          <code>{problem.code}</code>
          {problem.retryable && <span>a retry may help</span>}
          {problem.correlation_id && (
            <span className={classes.correlation}>
              correlation <Correlation id={problem.correlation_id} />
            </span>
          )}
        </p>
        {props.children && <div className={classes.exits}>{props.children}</div>}
      </div>
    </div>
  );
}

/** A correlation id, with the ways to what it finds. */
export function Correlation({ id }: { id: string }) {
  return (
    <span className={classes.correlation}>
      <span title={id}>{id.slice(0, 12)}…</span>
      <CopyButton text={id} label="Copy correlation ID" />
      <PageLink to="/audit" search={{ correlation: id }}>
        audit and events
      </PageLink>
    </span>
  );
}

export function explained(error: unknown): Explained {
  if (error instanceof ApiProblem) {
    const { code, detail, next_step, correlation_id, retryable } = error.document;
    return { code, message: detail, next_step, correlation_id, retryable };
  }
  const message = error instanceof Error ? error.message : String(error);
  return {
    code: "console_error",
    message,
    next_step: "Reload the page. If it fails again, report what you did.",
  };
}
