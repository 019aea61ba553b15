import { Button } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { ActionDialog } from "./ActionDialog";
import type { ActionSpec } from "./spec";

interface Props<T> {
  spec: ActionSpec<T>;
  resource: T;
  /** What it is done to or in: "Create an allocation: research". */
  name: string;
  icon?: ReactNode;
  size?: "xs" | "compact-xs";
}

/** A button for one action, such as creating something in a list. The caller checks that the action is allowed. */
export function ActionButton<T>({ spec, resource, name, icon, size = "xs" }: Props<T>) {
  const [open, setOpen] = useState(false);
  const color = spec.danger ? "red" : undefined;
  const variant = spec.primary ? "filled" : spec.danger ? "light" : "default";
  return (
    <>
      <Button
        size={size}
        variant={variant}
        color={color}
        leftSection={icon}
        data-action={spec.label}
        onClick={() => setOpen(true)}
      >
        {spec.label}
      </Button>
      {open && <ActionDialog spec={spec} resource={resource} name={name} onClose={() => setOpen(false)} />}
    </>
  );
}
