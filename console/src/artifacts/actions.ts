// What can be asked of an artifact. Every reason against a move is the API's to say.
import { type ActionTable, REASON, REASON_FORM } from "../actions/spec";
import { api, body } from "../api/client";
import { invalidateAfter } from "../api/stale";
import type { Artifact } from "../api/types";

const STAGES: Artifact["stage"][] = ["draft", "staged", "canary", "active", "deprecated", "retired"];

function at(one: Artifact) {
  return { path: { project_id: one.project_id, artifact_id: one.id } };
}

function refetchAfter<T>(one: Artifact, answer: Promise<T>): Promise<T> {
  return invalidateAfter(answer, ["artifacts", one.project_id]);
}

export const ARTIFACT_ACTIONS: ActionTable<Artifact> = {
  artifact_move: {
    label: "Promote",
    primary: true,
    description: (one) =>
      `The stage is ${one.stage}. Choose the next stage, or go back from canary to staged.`,
    form: {
      type: "object",
      required: ["stage", "reason"],
      properties: {
        stage: { type: "string", enum: STAGES },
        canary_percent: {
          type: "integer",
          minimum: 1,
          maximum: 100,
          "x-ui": { label: "Share of projects in %", help: "Only for canary." },
        },
        reason: REASON,
      },
    },
    run: (one, values) =>
      refetchAfter(
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
    done: "Promoted",
  },
  artifact_evidence_add: {
    label: "Add evidence",
    description: () => "Records the result of your own lint or smoke test. It is shown as yours.",
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
      refetchAfter(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/artifacts/{artifact_id}/evidence", {
            params: at(one),
            body: {
              kind: values.kind as "lint" | "smoke",
              tool: String(values.tool),
              summary: String(values.summary),
              passed: values.passed === true,
              development: false,
            },
          }),
        ),
      ),
    done: "Evidence added",
  },
  artifact_verify: {
    label: "Verify again",
    description: () => "Reads every byte again and looks for signatures by the tenant's trust keys.",
    form: {
      type: "object",
      properties: {
        signatures: {
          type: "array",
          items: { type: "string" },
          "x-ui": { help: "For a blob: the output of cosign sign-blob, base64. For an image: leave empty." },
        },
      },
    },
    run: (one, values) =>
      refetchAfter(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/artifacts/{artifact_id}/verify", {
            params: at(one),
            body: { signatures: (values.signatures ?? []) as string[] },
          }),
        ),
      ),
    done: "Check started",
  },
  artifact_revoke: {
    label: "Revoke",
    danger: true,
    description: () =>
      "Nothing new can be launched from it. Running instances continue. This cannot be undone.",
    form: REASON_FORM,
    run: (one, values) =>
      refetchAfter(
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
    description: () =>
      "Removes the artifact's bytes. This cannot be undone, and is refused while an app version or an instance refers to it.",
    run: (one) =>
      refetchAfter(
        one,
        body(api.DELETE("/api/v1/projects/{project_id}/artifacts/{artifact_id}", { params: at(one) })),
      ),
    done: "Deletion started",
  },
};
