import { Button, Menu } from "@mantine/core";
import { useState } from "react";
import { Icon } from "../parts/Icon";
import { ActionDialog } from "./ActionDialog";
import { type ActionSpec, type ActionTable, offered } from "./spec";

interface Props<T> {
  resource: T;
  /** The thing's name, which destructive actions ask for. */
  name: string;
  allowed: readonly string[];
  table: ActionTable<T>;
  /** More than these go into a menu. */
  most?: number;
  size?: "xs" | "sm" | "compact-xs";
}

/** The actions that the API allows now, and no others. */
export function ActionBar<T>({ resource, name, allowed, table, most = 3, size = "xs" }: Props<T>) {
  const [chosen, setChosen] = useState<ActionSpec<T> | null>(null);
  const all = offered(table, allowed);
  if (all.length === 0 && !chosen) return null;
  const front = all.length <= most ? all : all.slice(0, most - 1);
  const rest = all.slice(front.length);
  return (
    <>
      {front.map(([action, spec]) => (
        <Button
          key={action}
          size={size}
          data-action={action}
          {...looks(spec)}
          onClick={() => setChosen(spec)}
        >
          {spec.label}
        </Button>
      ))}
      {rest.length > 0 && (
        <Menu position="bottom-end" withinPortal>
          <Menu.Target>
            <Button size={size} variant="default" rightSection={<Icon name="down" size={14} />}>
              More
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {rest.map(([action, spec]) => (
              <Menu.Item
                key={action}
                data-action={action}
                color={spec.danger ? "red" : undefined}
                onClick={() => setChosen(spec)}
              >
                {spec.label}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
      {chosen && (
        <ActionDialog spec={chosen} resource={resource} name={name} onClose={() => setChosen(null)} />
      )}
    </>
  );
}

function looks<T>(spec: ActionSpec<T>) {
  if (spec.danger) return { variant: "light", color: "red" } as const;
  return spec.primary ? ({ variant: "filled" } as const) : ({ variant: "default" } as const);
}
