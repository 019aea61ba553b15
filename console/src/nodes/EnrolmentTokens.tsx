import { useMemo } from "react";
import { ActionButton } from "../actions/ActionButton";
import { actionsColumn } from "../actions/columns";
import type { EnrolmentToken } from "../api/types";
import { countColumn, stateColumn, textColumn, timeColumn } from "../parts/columns";
import { Empty } from "../parts/Loaded";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { tokenRevokeSpec } from "./actions";
import { useEnrolmentTokens } from "./queries";

export function EnrolmentTokens({ may }: { may: boolean }) {
  const listing = useEnrolmentTokens();
  const columns = useMemo<Column<EnrolmentToken>[]>(
    () => [
      textColumn(
        "note",
        "For",
        (one) => one.note,
        "minmax(8rem, 2fr)",
        (one) => one.note ?? one.id,
      ),
      countColumn(
        "uses",
        "Used",
        (one) => one.uses,
        "6rem",
        (one) => `${one.uses} of ${one.max_uses}`,
      ),
      stateColumn("state", "State", tokenState),
      timeColumn("until", "Valid until", (one) => one.expires_at, "7rem"),
      actionsColumn(
        (one) =>
          may &&
          tokenState(one) === "open" && (
            <ActionButton spec={tokenRevokeSpec} resource={one} name={one.note ?? one.id} size="compact-xs" />
          ),
        "7rem",
      ),
    ],
    [may],
  );
  return (
    <ResourceTable
      label="Enrolment tokens"
      columns={columns}
      listing={listing}
      rowId={(one) => one.id}
      empty={<Empty icon="key" title="No tokens" />}
    />
  );
}

function tokenState(one: EnrolmentToken): string {
  if (one.revoked_at) return "revoked";
  if (one.uses >= one.max_uses) return "used_up";
  return Date.parse(one.expires_at) < Date.now() ? "expired" : "open";
}
