import { Icon } from "../parts/Icon";
import { ActionButton } from "./ActionButton";
import type { ActionSpec } from "./spec";

interface Props<T> {
  spec: ActionSpec<T>;
  resource: T;
  name: string;
  size?: "xs" | "compact-xs";
}

/** Makes one more of what a list shows. */
export function CreateButton<T>(props: Props<T>) {
  return <ActionButton {...props} icon={<Icon name="plus" size={14} />} />;
}
