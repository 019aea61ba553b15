// Versions of an app: registered, offered, taken back.
import { type ActionSpec, type ActionTable, REASON_FORM } from "../actions/spec";
import { api, body } from "../api/client";
import { invalidateAfter } from "../api/stale";
import type { App, AppVersion, InstanceStarted, Project } from "../api/types";
import { SmokeForm } from "./SmokeForm";
import { type SmokeValues, smokeBody, smokeErrors } from "./smokeLaunch";

export const registerSpec: ActionSpec<Project> = {
  label: "Register a version",
  description: () =>
    "The manifest's artifact must be published in this project. The first version creates the app.",
  form: {
    type: "object",
    required: ["manifest"],
    properties: {
      manifest: {
        type: "string",
        minLength: 1,
        maxLength: 400_000,
        "x-ui": { help: "YAML or JSON.", multiline: true },
      },
    },
  },
  run: (project, values) =>
    invalidateAfter(
      body(
        api.POST("/api/v1/projects/{project_id}/app-versions", {
          params: { path: { project_id: project.id } },
          body: { manifest: String(values.manifest) },
        }),
      ),
      ["apps", project.id],
      ["catalog", project.id],
    ),
  done: "Registered as a draft",
};

function at(one: AppVersion) {
  return { path: { project_id: one.project_id, app_id: one.app_id, version_id: one.id } };
}

function refetchAfter<T>(one: AppVersion, answer: Promise<T>): Promise<T> {
  return invalidateAfter(answer, ["apps", one.project_id], ["catalog", one.project_id]);
}

function rolledBack(project_id: string, app_id: string, reason: string) {
  return invalidateAfter(
    body(
      api.POST("/api/v1/projects/{project_id}/apps/{app_id}/rollback", {
        params: { path: { project_id, app_id } },
        body: { reason },
      }),
    ),
    ["apps", project_id],
    ["catalog", project_id],
  );
}

/** What is done with an app as a whole. */
export const APP_ACTIONS: ActionTable<App> = {
  app_rollback: {
    label: "Roll back",
    danger: true,
    description: () =>
      "Takes back the canary, or returns launches to the version before the last promotion. Running workloads continue.",
    form: REASON_FORM,
    run: (one, values) => rolledBack(one.project_id, one.id, String(values.reason)),
    done: "Rolled back",
  },
};

/** What is done with a version. To activate a canary is to promote it. */
export function versionActions(version: AppVersion): ActionTable<AppVersion> {
  const { app_version_activate: activate, app_version_canary: canary } = VERSION_ACTIONS;
  if (version.status !== "canary" || !activate || !canary) return VERSION_ACTIONS;
  return {
    ...VERSION_ACTIONS,
    app_version_activate: {
      ...activate,
      label: "Promote",
      description: () => "New workloads of all projects get this version. Running ones continue.",
      done: "Promoted",
    },
    app_version_canary: { ...canary, label: "Change percentage" },
  };
}

const VERSION_ACTIONS: ActionTable<AppVersion> = {
  app_version_smoke: {
    label: "Smoke launch",
    description: () =>
      "The platform launches the version here, waits until it is ready, and removes it. The outcome becomes evidence of its artifacts.",
    Extra: SmokeForm,
    check: (values) => smokeErrors(values as SmokeValues),
    run: (one, values) =>
      refetchAfter(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/apps/{app_id}/versions/{version_id}/smoke", {
            params: at(one),
            body: smokeBody(values as SmokeValues),
          }),
        ),
      ),
    follow: (answer) => ({ to: `/workloads/${(answer as InstanceStarted).instance.id}` }),
    done: "Smoke launch started",
  },
  app_version_trial: {
    label: "Trial",
    description: () =>
      "People of this project, and nobody else, can launch the draft by its version before its artifacts are active.",
    run: (one) =>
      refetchAfter(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/apps/{app_id}/versions/{version_id}/trial", {
            params: at(one),
          }),
        ),
      ),
    done: "On trial",
  },
  app_version_activate: {
    label: "Activate",
    primary: true,
    description: () => "Everyone who can see the app can launch this version.",
    run: (one) =>
      refetchAfter(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/apps/{app_id}/versions/{version_id}/activate", {
            params: at(one),
          }),
        ),
      ),
    done: "Active",
  },
  app_version_canary: {
    label: "Canary",
    description: () =>
      "This percentage of projects gets the version. A larger percentage keeps all that have it already.",
    form: {
      type: "object",
      required: ["percent"],
      properties: {
        percent: {
          type: "integer",
          minimum: 1,
          maximum: 100,
          default: 10,
          "x-ui": { label: "Percent of projects" },
        },
      },
    },
    run: (one, values) =>
      refetchAfter(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/apps/{app_id}/versions/{version_id}/canary", {
            params: at(one),
            body: { percent: Number(values.percent) },
          }),
        ),
      ),
    done: "Canary",
  },
  app_rollback: {
    label: "Roll back",
    danger: true,
    description: () => "No new workload takes this canary. Running ones continue.",
    form: REASON_FORM,
    run: (one, values) => rolledBack(one.project_id, one.app_id, String(values.reason)),
    done: "Rolled back",
  },
  app_version_deprecate: {
    label: "Deprecate",
    form: {
      type: "object",
      required: ["notice"],
      properties: {
        notice: {
          type: "string",
          minLength: 3,
          maxLength: 500,
          "x-ui": { help: "Shown to users: what they should do instead.", multiline: true },
        },
      },
    },
    run: (one, values) =>
      refetchAfter(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/apps/{app_id}/versions/{version_id}/deprecate", {
            params: at(one),
            body: { notice: String(values.notice) },
          }),
        ),
      ),
    done: "Deprecated",
  },
  app_version_retire: {
    label: "Retire",
    danger: true,
    description: () => "Nothing new can be launched from this version. Running instances continue.",
    form: REASON_FORM,
    run: (one, values) =>
      refetchAfter(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/apps/{app_id}/versions/{version_id}/retire", {
            params: at(one),
            body: { reason: String(values.reason) },
          }),
        ),
      ),
    done: "Retired",
  },
};
