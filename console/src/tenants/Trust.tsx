import { useMemo } from "react";
import { ActionButton } from "../actions/ActionButton";
import type { Tenant, TrustKey } from "../api/types";
import { Mono } from "../parts/KeyValues";
import { Empty } from "../parts/Loaded";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { StateBadge } from "../parts/StateBadge";
import { useTrustKeys, useTrustPolicy } from "./queries";
import classes from "./TenantPage.module.css";
import { trustKeyCreateSpec, trustKeyRevokeSpec, trustPolicySpec } from "./trustActions";

/** Whose signatures count for the tenant's artifacts, and whether one is needed. */
export function Trust({ tenant }: { tenant: Tenant }) {
  const listing = useTrustKeys(tenant.id);
  const policy = useTrustPolicy(tenant.id);
  const may = new Set(tenant.allowed_actions);
  const mayRevoke = may.has("trust_key_revoke");
  const columns = useMemo<Column<TrustKey>[]>(
    () => [
      {
        key: "name",
        header: "Key",
        width: "minmax(8rem, 1fr)",
        cell: (one) => one.name,
        value: (one) => one.name,
      },
      {
        key: "print",
        header: "Fingerprint",
        width: "minmax(10rem, 2fr)",
        cell: (one) => <Mono text={one.fingerprint} copy="Copy fingerprint" />,
        value: (one) => one.fingerprint,
      },
      {
        key: "state",
        header: "State",
        width: "7rem",
        cell: (one) => <StateBadge state={one.revoked_at ? "revoked" : "active"} />,
        value: (one) => one.revoked_at,
      },
      {
        key: "since",
        header: "Since",
        width: "6rem",
        cell: (one) => <RelativeTime at={one.created_at} />,
        value: (one) => one.created_at,
      },
      {
        key: "actions",
        header: "Actions",
        width: "7rem",
        cell: (one) =>
          mayRevoke &&
          !one.revoked_at && (
            <ActionButton
              spec={trustKeyRevokeSpec(tenant)}
              resource={one}
              name={one.name}
              size="compact-xs"
            />
          ),
      },
    ],
    [tenant, mayRevoke],
  );
  const required = policy.data?.require_signature;
  return (
    <Panel
      title="Signatures"
      flush
      aside={
        <span className={classes.actions}>
          {required !== undefined && (
            <span>
              {required ? "Only what a trust key signed is launched" : "A signature is not required"}
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
          {may.has("trust_key_create") && (
            <ActionButton spec={trustKeyCreateSpec} resource={tenant} name={tenant.name} size="compact-xs" />
          )}
        </span>
      }
    >
      <ResourceTable
        plain
        label="Trust keys"
        columns={columns}
        listing={listing}
        rowId={(one) => one.id}
        empty={<Empty icon="key" title="No trust keys" />}
      />
    </Panel>
  );
}
