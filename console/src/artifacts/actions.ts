// What can be asked of an artifact. Every reason against a move is the API's to say.
import { type ActionTable, REASON, REASON_FORM } from "../actions/spec";
import { api, body } from "../api/client";
import { thenStale } from "../api/stale";
import type { Artifact } from "../api/types";

const STAGES: Artifact["stage"][] = ["draft", "staged", "canary", "active", "deprecated", "retired"];

function at(one: Artifact) {
  return { path: { project_id: one.project_id, artifact_id: one.id } };
}

function told<T>(one: Artifact, answer: Promise<T>): Promise<T> {
  return thenStale(answer, ["artifacts", one.project_id]);
}

export const ARTIFACT_ACTIONS: ActionTable<Artifact> = {
  artifact_move: {
    label: "Move",
    primary: true,
    says: (one) => `It is ${one.stage}. One step on, or back from canary to staged.`,
    form: {
      type: "object",
      required: ["stage", "reason"],
      properties: {
        stage: { type: "string", enum: STAGES },
        canary_percent: {
          type: "integer",
          minimum: 1,
          maximum: 100,
          "x-ui": { label: "Share of projects in %", help: "Of a canary, and only of one." },
        },
        reason: REASON,
      },
    },
    run: (one, values) =>
      told(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/artifacts/{artifact_id}/move", {
            params: at(one),
            body: {
              stage: values.stage as Artifact["stage"],
              canary_percent: values.canary_percent ? Number(values.canary_percent) : null,
              reason: String(values.reason),
            },
          }),
        ),
      ),
    done: "Moved",
  },
  artifact_evidence_add: {
    label: "Add evidence",
    says: () => "What a lint or a smoke test of it said. A failed one is worth keeping too.",
    form: {
      type: "object",
      required: ["kind", "tool", "summary", "passed"],
      properties: {
        kind: { type: "string", enum: ["lint", "smoke"], default: "smoke" },
        tool: { type: "string", minLength: 1, maxLength: 100, "x-ui": { placeholder: "smoke.sh 3" } },
        summary: { type: "string", minLength: 1, maxLength: 2000, "x-ui": { multiline: true } },
        passed: { type: "boolean", default: true },
      },
    },
    run: (one, values) =>
      told(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/artifacts/{artifact_id}/evidence", {
            params: at(one),
            body: {
              kind: values.kind as "lint" | "smoke",
              tool: String(values.tool),
              summary: String(values.summary),
              passed: values.passed === true,
            },
          }),
        ),
      ),
    done: "Evidence kept",
  },
  artifact_verify: {
    label: "Verify again",
    says: () => "Reads every byte, and looks for signatures by the tenant's keys.",
    form: {
      type: "object",
      properties: {
        signatures: {
          type: "array",
          items: { type: "string" },
          "x-ui": { help: "Of a blob (cosign sign-blob), base64. Those of an image are beside it." },
        },
      },
    },
    run: (one, values) =>
      told(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/artifacts/{artifact_id}/verify", {
            params: at(one),
            body: { signatures: (values.signatures ?? []) as string[] },
          }),
        ),
      ),
    done: "Checking",
  },
  artifact_revoke: {
    label: "Revoke",
    danger: true,
    says: () => "Nothing is launched from it any more, for ever. What runs goes on.",
    form: REASON_FORM,
    run: (one, values) =>
      told(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/artifacts/{artifact_id}/revoke", {
            params: at(one),
            body: { reason: String(values.reason) },
          }),
        ),
      ),
    done: "Revoked",
  },
  artifact_delete: {
    label: "Delete",
    danger: true,
    says: () => "Its bytes are removed, for ever. Refused while an app version or an instance refers to it.",
    run: (one) =>
      told(
        one,
        body(api.DELETE("/api/v1/projects/{project_id}/artifacts/{artifact_id}", { params: at(one) })),
      ),
    done: "Being deleted",
  },
};
