// Consents: which controllers of apps may work in the tenant's projects.
import type { ActionSpec } from "../actions/spec";
import { api, body } from "../api/client";
import { invalidateAfter } from "../api/stale";
import type { ControllerOffer } from "../api/types";
import { queries } from "../app/queries";
import { ConsentForm } from "./ConsentForm";

/** An offer, and the tenant that it is for. */
export interface TenantOffer {
  tenant_id: string;
  offer: ControllerOffer;
}

/** The answer of a change, once the offers and what can be launched are being read again. */
function refetchAfter<T>(answer: Promise<T>): Promise<T> {
  return invalidateAfter(answer, ["tenants", "platform"]).then((done) => {
    void queries.invalidateQueries({ queryKey: ["catalog"] });
    return done;
  });
}

export const consentGiveSpec: ActionSpec<TenantOffer> = {
  label: "Consent",
  primary: true,
  Extra: ConsentForm,
  run: ({ tenant_id, offer }, values) =>
    refetchAfter(
      body(
        api.POST("/api/v1/tenants/{tenant_id}/controller-consents", {
          params: { path: { tenant_id } },
          body: { app: offer.slug, project_ids: chosen(values.project_ids) },
        }),
      ),
    ),
  done: "Consent given",
};

function chosen(value: unknown): string[] | null {
  return Array.isArray(value) && value.length > 0 ? value.map(String) : null;
}

export const consentWithdrawSpec: ActionSpec<TenantOffer> = {
  label: "Withdraw consent",
  danger: true,
  description: () =>
    "At once: its controller sees nothing of the tenant, its operations wait, and its access to machines is revoked. What runs continues.",
  run: ({ tenant_id, offer }) =>
    refetchAfter(
      body(
        api.POST("/api/v1/tenants/{tenant_id}/controller-consents/{controller_consent_id}/withdraw", {
          params: { path: { tenant_id, controller_consent_id: offer.consent?.id ?? "" } },
          body: {},
        }),
      ),
    ),
  done: "Consent withdrawn",
};
