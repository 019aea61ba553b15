import { Button } from "@mantine/core";
import { useState } from "react";
import { ActionDialog } from "../actions/ActionDialog";
import type { Instance, Operation } from "../api/types";
import { workloadActions } from "../workloads/actions";
import { isLive } from "./queries";

/** After a failure: the same again, where the instance allows it now. */
export function RepeatButton({ operation, instance }: { operation: Operation; instance: Instance }) {
  const [open, setOpen] = useState(false);
  const action = `instance_${operation.kind}`;
  const spec = workloadActions(instance)[action];
  const failed = !isLive(operation) && operation.status !== "succeeded" && operation.target === "instance";
  if (!failed || !spec || !instance.allowed_actions.includes(action)) return null;
  return (
    <>
      <Button size="xs" data-action={action} onClick={() => setOpen(true)}>
        {spec.label} again
      </Button>
      {open && (
        <ActionDialog spec={spec} resource={instance} name={instance.name} onClose={() => setOpen(false)} />
      )}
    </>
  );
}
