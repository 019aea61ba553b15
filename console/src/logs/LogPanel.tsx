import { Button } from "@mantine/core";
import { lazy, Suspense, useState } from "react";
import type { Instance, InstanceMember } from "../api/types";
import { Panel } from "../parts/Panel";

const LogView = lazy(() => import("./LogView"));

/** What the members write. Lines are read when somebody asks for them, since each reading is recorded. */
export function LogPanel({ instance, members }: { instance: Instance; members: InstanceMember[] }) {
  const [open, setOpen] = useState(false);
  return (
    <Panel
      title="Logs"
      aside={
        <Button size="xs" variant="default" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Hide logs" : "Show logs"}
        </Button>
      }
    >
      {!open && <p className="dim">Read what the members write, without logging in to their hosts.</p>}
      {open && members.length === 0 && <p className="dim">The workload has no members yet.</p>}
      {open && members.length > 0 && (
        <Suspense fallback={null}>
          <LogView instance={instance} members={members} />
        </Suspense>
      )}
    </Panel>
  );
}
