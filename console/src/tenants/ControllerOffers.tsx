import { ActionButton } from "../actions/ActionButton";
import { actionsColumn } from "../actions/columns";
import type { ControllerOffer } from "../api/types";
import { stateColumn, textColumn } from "../parts/columns";
import { Empty } from "../parts/Loaded";
import type { Column } from "../parts/ResourceTable";
import { TablePanel } from "../parts/TablePanel";
import { consentGiveSpec, consentWithdrawSpec } from "./consentActions";
import { useControllerOffers } from "./queries";

/** Controllers of apps that would serve the tenant, and whether it consents to them. */
export function ControllerOffers({ tenantId, app }: { tenantId: string; app?: string }) {
  const listing = useControllerOffers(tenantId, app);
  const columns: Column<ControllerOffer>[] = [
    textColumn("app", "App", (one) => one.display_name, "minmax(8rem, 1fr)"),
    textColumn("by", "Served by", (one) => one.service_accounts.join(", "), "minmax(8rem, 1fr)"),
    stateColumn("state", "Controller", (one) => (one.live ? "live" : "silent"), "6rem"),
    textColumn("consent", "Consent", consentText, "minmax(9rem, 2fr)"),
    actionsColumn((one) => <ConsentButton tenantId={tenantId} offer={one} />, "10rem"),
  ];
  return (
    <TablePanel
      title="Controllers of apps"
      label="Controllers of apps"
      columns={columns}
      listing={listing}
      empty={
        <Empty icon="apps" title="None" text="No publisher runs a controller for an app of this tenant." />
      }
    />
  );
}

function ConsentButton({ tenantId, offer }: { tenantId: string; offer: ControllerOffer }) {
  const may = new Set([...offer.allowed_actions, ...(offer.consent?.allowed_actions ?? [])]);
  const resource = { tenant_id: tenantId, offer };
  if (offer.consent)
    return (
      may.has("controller_consent_withdraw") && (
        <ActionButton spec={consentWithdrawSpec} resource={resource} name={offer.slug} size="compact-xs" />
      )
    );
  return (
    may.has("controller_consent_give") && (
      <ActionButton spec={consentGiveSpec} resource={resource} name={offer.slug} size="compact-xs" />
    )
  );
}

function consentText(one: ControllerOffer): string {
  if (!one.consent) return "none";
  const where = one.consent.project_ids;
  const place = where
    ? `in ${where.length} ${where.length === 1 ? "project" : "projects"}`
    : "in all projects";
  return one.consent.given_with === "entitlement" ? `${place}, with the app's entitlement` : place;
}
