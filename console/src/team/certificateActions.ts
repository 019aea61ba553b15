// Client certificates of a service account: its tokens are bound to them.
import type { ActionSpec } from "../actions/spec";
import { api, body } from "../api/client";
import { thenStale } from "../api/stale";
import type { ServiceAccount, ServiceAccountCertificate } from "../api/types";
import type { Secret } from "../parts/ShownOnce";

function at(one: ServiceAccount) {
  return { project_id: one.project_id, service_account_id: one.id };
}

export const certificateCreateSpec: ActionSpec<ServiceAccount, Secret> = {
  label: "New certificate",
  says: () =>
    "The platform signs a request that the program's machine made; the private key stays there. Older certificates stay good.",
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
    const made = await thenStale(
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
      says: "It is no secret, and the platform does not keep it. Put it beside the program's key.",
      parts: [{ label: "Certificate", text: made.certificate }],
    };
  },
  done: "Certificate signed",
};

export const certificateDeleteSpec = (one: ServiceAccount): ActionSpec<ServiceAccountCertificate> => ({
  label: "Delete",
  danger: true,
  says: () => "It is refused from now on, with the tokens that are bound to it.",
  run: (certificate) =>
    thenStale(
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
