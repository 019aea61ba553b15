import { Button, Stack, Text } from "@mantine/core";
import { lazy, Suspense, useState } from "react";
import { ActionButton } from "../actions/ActionButton";
import type { ActionSpec } from "../actions/spec";
import { useTerminals } from "../allocations/queries";
import { api, body } from "../api/client";
import { invalidateAfter } from "../api/stale";
import type { Allocation, Terminal } from "../api/types";
import { Icon } from "../parts/Icon";
import { Loading } from "../parts/Loaded";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { StateBadge } from "../parts/StateBadge";
import classes from "./TerminalPanel.module.css";

const TerminalView = lazy(() => import("./TerminalView"));
const SHOWN = 5;

/** A shell in the browser, and who had one before. What is typed and shown is kept nowhere. */
export function TerminalPanel({ allocation }: { allocation: Allocation }) {
  const [open, setOpen] = useState(false);
  const may = allocation.allowed_actions.includes("terminal_open");
  return (
    <Panel
      title="Terminal"
      aside={
        may &&
        !open && (
          <Button
            size="compact-xs"
            leftSection={<Icon name="terminal" size={14} />}
            onClick={() => setOpen(true)}
            data-action="terminal_open"
          >
            Open
          </Button>
        )
      }
    >
      <Stack gap="md">
        {open ? (
          <Suspense fallback={<Loading label="Loading the terminal" />}>
            <TerminalView allocation={allocation} onClose={() => setOpen(false)} />
          </Suspense>
        ) : (
          <Text size="sm" c="dimmed">
            {may
              ? "Opens a shell on the allocation through the platform. The audit trail records the session, not what you type."
              : "You cannot open a terminal here now."}
          </Text>
        )}
        <Past allocation={allocation} />
      </Stack>
    </Panel>
  );
}

const closeSpec: ActionSpec<Terminal> = {
  label: "Close",
  description: (one) => `Ends the shell of ${one.opened_by} immediately.`,
  run: (one) =>
    invalidateAfter(
      body(
        api.POST("/api/v1/projects/{project_id}/allocations/{allocation_id}/terminals/{terminal_id}/close", {
          params: {
            path: { project_id: one.project_id, allocation_id: one.allocation_id, terminal_id: one.id },
          },
        }),
      ),
      ["allocations", one.project_id],
    ),
};

function Past({ allocation }: { allocation: Allocation }) {
  const listing = useTerminals(allocation.project_id, allocation.id);
  if (listing.rows.length === 0) return null;
  return (
    <ul className={classes.past} aria-label="Past terminals">
      {listing.rows.slice(0, SHOWN).map((one) => (
        <li key={one.id}>
          <StateBadge state={one.status} />
          <span className="dim">{one.opened_by}</span>
          <RelativeTime at={one.created_at} />
          {one.message && <span className="dim">{one.message}</span>}
          {one.allowed_actions.includes("terminal_close") && (
            <ActionButton spec={closeSpec} resource={one} name={one.id} size="compact-xs" />
          )}
        </li>
      ))}
    </ul>
  );
}
