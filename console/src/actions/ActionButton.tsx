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

/** One action that stands by itself, such as making a new thing in a list. Whoever draws it has asked whether it is allowed. */
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
