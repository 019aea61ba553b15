// Client certificates of a service account: its tokens are bound to them.
import type { ActionSpec } from "../actions/spec";
import { api, body } from "../api/client";
import { invalidateAfter } from "../api/stale";
import type { ServiceAccount, ServiceAccountCertificate } from "../api/types";
import type { Secret } from "../parts/OneTimeSecret";

function at(one: ServiceAccount) {
  return { project_id: one.project_id, service_account_id: one.id };
}

export const certificateCreateSpec: ActionSpec<ServiceAccount, Secret> = {
  label: "New certificate",
  description: () =>
    "The platform signs a certificate request from the program's machine; the private key stays there. Older certificates stay valid.",
  form: {
    type: "object",
    required: ["certificate_request"],
    properties: {
      certificate_request: {
        type: "string",
        minLength: 100,
        maxLength: 16384,
        "x-ui": {
          label: "Certificate request",
          help: "PEM, as openssl req -new makes it. Its names are ignored.",
          multiline: true,
        },
      },
      days: { type: "integer", minimum: 1, maximum: 365, default: 90, "x-ui": { label: "Days" } },
    },
  },
  run: async (one, values) => {
    const made = await invalidateAfter(
      body(
        api.POST("/api/v1/projects/{project_id}/service-accounts/{service_account_id}/certificates", {
          params: { path: at(one) },
          body: { certificate_request: String(values.certificate_request), days: Number(values.days ?? 90) },
        }),
      ),
      ["service-accounts", one.project_id],
    );
    return {
      title: `Certificate of ${one.name}`,
      description:
        "The certificate is not secret, and the platform does not store it. Save it beside the program's key.",
      parts: [{ label: "Certificate", text: made.certificate }],
    };
  },
  done: "Certificate signed",
};

export const certificateDeleteSpec = (one: ServiceAccount): ActionSpec<ServiceAccountCertificate> => ({
  label: "Delete",
  danger: true,
  description: () => "The certificate and the tokens bound to it are refused from now on.",
  run: (certificate) =>
    invalidateAfter(
      body(
        api.DELETE(
          "/api/v1/projects/{project_id}/service-accounts/{service_account_id}/certificates/{certificate_id}",
          { params: { path: { ...at(one), certificate_id: certificate.id } } },
        ),
      ),
      ["service-accounts", one.project_id],
    ),
  done: "Certificate deleted",
});
