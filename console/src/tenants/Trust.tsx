import { useMemo } from "react";
import { ActionButton } from "../actions/ActionButton";
import { actionsColumn } from "../actions/columns";
import type { Tenant, TrustKey } from "../api/types";
import { endedColumn, monoColumn, textColumn, timeColumn } from "../parts/columns";
import { Empty } from "../parts/Loaded";
import type { Column } from "../parts/ResourceTable";
import { RowActions } from "../parts/RowActions";
import { TablePanel } from "../parts/TablePanel";
import { useTrustKeys, useTrustPolicy } from "./queries";
import { smokePolicySpec, trustKeyCreateSpec, trustKeyRevokeSpec, trustPolicySpec } from "./trustActions";

/** Whose signatures count for the tenant's artifacts, and whether one is needed. */
export function Trust({ tenant }: { tenant: Tenant }) {
  const listing = useTrustKeys(tenant.id);
  const policy = useTrustPolicy(tenant.id);
  const may = new Set(tenant.allowed_actions);
  const mayRevoke = may.has("trust_key_revoke");
  const columns = useMemo<Column<TrustKey>[]>(
    () => [
      textColumn("name", "Key", (one) => one.name, "minmax(8rem, 1fr)"),
      monoColumn("print", "Fingerprint", (one) => one.fingerprint, "minmax(10rem, 2fr)", "Copy fingerprint"),
      endedColumn((one) => one.revoked_at, "revoked"),
      timeColumn("since", "Since", (one) => one.created_at, "6rem"),
      actionsColumn(
        (one) =>
          mayRevoke &&
          !one.revoked_at && (
            <ActionButton
              spec={trustKeyRevokeSpec(tenant)}
              resource={one}
              name={one.name}
              size="compact-xs"
            />
          ),
        "7rem",
      ),
    ],
    [tenant, mayRevoke],
  );
  const required = policy.data?.require_signature;
  return (
    <TablePanel
      title="Signatures"
      aside={
        <RowActions>
          {required !== undefined && (
            <span>
              {required ? "Launches need a signature by a trust key" : "A signature is not required"}
              {policy.data?.require_smoke_launch
                ? "; staging needs a smoke launch"
                : "; a smoke launch is not required"}
            </span>
          )}
          {may.has("trust_policy_set") && required !== undefined && (
            <ActionButton
              spec={trustPolicySpec(!required)}
              resource={tenant}
              name={tenant.name}
              size="compact-xs"
            />
          )}
          {may.has("trust_policy_set") && policy.data && (
            <ActionButton
              spec={smokePolicySpec(policy.data.require_signature, !policy.data.require_smoke_launch)}
              resource={tenant}
              name={tenant.name}
              size="compact-xs"
            />
          )}
          {may.has("trust_key_create") && (
            <ActionButton spec={trustKeyCreateSpec} resource={tenant} name={tenant.name} size="compact-xs" />
          )}
        </RowActions>
      }
      label="Trust keys"
      columns={columns}
      listing={listing}
      empty={<Empty icon="key" title="No trust keys" />}
    />
  );
}
