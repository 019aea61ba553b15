// What a button for an action on a node or a slot says, asks and does.
import { type ActionSpec, type ActionTable, REASON, REASON_FORM } from "../actions/spec";
import { api, body } from "../api/client";
import { invalidateAfter } from "../api/stale";
import type { EnrolmentToken, HostReport, Node, Slot } from "../api/types";
import { queries } from "../app/queries";
import type { Values } from "../forms/schema";
import type { Secret } from "../parts/OneTimeSecret";
import { planSpec } from "./maintenanceActions";
import { MAP_KEY, PLATFORM } from "./queries";

function refetchAfter<T>(answer: Promise<T>): Promise<T> {
  return invalidateAfter(answer, ["nodes", PLATFORM]).then((done) => {
    void queries.invalidateQueries({ queryKey: MAP_KEY });
    return done;
  });
}

function at(one: Node) {
  return { path: { node_id: one.id } };
}

export const NODE_ACTIONS: ActionTable<Node> = {
  slot_approve: {
    label: "Approve topology",
    primary: true,
    description: (one) => `${one.slots.discovered} GPUs wait for approval. Approved GPUs can be allocated.`,
    form: {
      type: "object",
      properties: {
        capacity_shape: {
          type: "string",
          enum: ["any", "baremetal", "gpu_slice"],
          default: "any",
          "x-ui": { label: "May be allocated as" },
        },
      },
    },
    run: (one, values) =>
      refetchAfter(
        body(
          api.POST("/api/v1/nodes/{node_id}/slots/approve", {
            params: at(one),
            body: { capacity_shape: (values.capacity_shape ?? "any") as "any" | "baremetal" | "gpu_slice" },
          }),
        ),
      ),
    done: "Approved",
  },
  node_uncordon: {
    label: "Uncordon",
    description: () => "The node takes new allocations again. This also ends a drain.",
    run: (one) => refetchAfter(body(api.POST("/api/v1/nodes/{node_id}/uncordon", { params: at(one) }))),
    done: "Uncordoned",
  },
  node_key_approve: {
    label: "Approve key",
    description: () =>
      "The agent was offline until its key expired. Approving lets it return; it then renews the key by itself.",
    form: REASON_FORM,
    run: (one, values) =>
      refetchAfter(
        body(
          api.POST("/api/v1/nodes/{node_id}/key/approve", {
            params: at(one),
            body: { reason: String(values.reason) },
          }),
        ),
      ),
    done: "Approved",
  },
  node_cordon: {
    label: "Cordon",
    description: () => "The node takes no new allocations. Running ones continue.",
    form: REASON_FORM,
    run: (one, values) =>
      refetchAfter(
        body(
          api.POST("/api/v1/nodes/{node_id}/cordon", {
            params: at(one),
            body: { reason: String(values.reason) },
          }),
        ),
      ),
    done: "Cordoned",
  },
  maintenance_window_plan: planSpec,
  node_discover: {
    label: "Discover",
    description: () => "Asks the agent to report its hardware again.",
    run: (one) => refetchAfter(body(api.POST("/api/v1/nodes/{node_id}/discover", { params: at(one) }))),
    done: "Discovery requested",
  },
  node_update: {
    label: "Rename",
    form: {
      type: "object",
      required: ["name"],
      properties: { name: { type: "string", minLength: 1, maxLength: 100 } },
    },
    run: (one, values) =>
      refetchAfter(
        body(api.PATCH("/api/v1/nodes/{node_id}", { params: at(one), body: { name: String(values.name) } })),
      ),
    done: "Renamed",
  },
  node_drain: {
    label: "Drain",
    danger: true,
    description: (one) =>
      `The node takes no new allocations. Its projects are notified now, and its allocations are released when the drain begins: ${one.slots.claimed} GPUs are claimed.`,
    form: {
      type: "object",
      required: ["reason"],
      properties: {
        reason: { ...REASON, "x-ui": { label: "Reason", help: "Shown to tenants." } },
        starts_at: {
          type: "string",
          "x-ui": {
            label: "Begins (your time)",
            moment: true,
            help: "Empty: after the platform's notice, or now if nothing is allocated.",
          },
        },
        now: { type: "boolean", "x-ui": { label: "Begin now, without notice" } },
      },
    },
    run: (one, values) =>
      refetchAfter(
        body(
          api.POST("/api/v1/nodes/{node_id}/drain", {
            params: at(one),
            body: { reason: String(values.reason), ...drainStart(values) },
          }),
        ),
      ),
    done: "The projects are notified",
  },
  node_retire: {
    label: "Retire",
    danger: true,
    description: () => "The agent's key is refused from now on. This cannot be undone.",
    form: REASON_FORM,
    run: (one, values) =>
      refetchAfter(
        body(
          api.POST("/api/v1/nodes/{node_id}/retire", {
            params: at(one),
            body: { reason: String(values.reason) },
          }),
        ),
      ),
    done: "Retired",
  },
};

export const REPORT_ACTIONS: ActionTable<HostReport> = {
  host_report_clear: {
    label: "Clear",
    description: () =>
      "Confirms that the host was checked. GPUs that the report kept out of the pool return to it.",
    form: REASON_FORM,
    run: (one, values) =>
      refetchAfter(
        body(
          api.POST("/api/v1/host-reports/{host_report_id}/clear", {
            params: { path: { host_report_id: one.id } },
            body: { reason: String(values.reason) },
          }),
        ),
      ),
    done: "Cleared",
  },
};

/** When a drain begins; without it, the platform decides. The form's time is that of the person's own clock. */
export function drainStart(values: Values): { starts_at?: string } {
  if (values.now === true) return { starts_at: new Date().toISOString() };
  return values.starts_at ? { starts_at: new Date(String(values.starts_at)).toISOString() } : {};
}

/** One line for each label, beginning with those that the node has. */
export function labelsSpec(node: Node): ActionSpec<Node> {
  const lines = Object.entries(node.labels).map(([key, value]) => `${key}=${value}`);
  return {
    label: "Edit labels",
    description: () => "One KEY=VALUE per line. A label that is missing here is removed.",
    form: {
      type: "object",
      properties: {
        labels: {
          type: "string",
          default: lines.join("\n"),
          "x-ui": { label: "Labels", multiline: true, placeholder: "rack=r7" },
        },
      },
    },
    run: (one, values) =>
      refetchAfter(
        body(
          api.PATCH("/api/v1/nodes/{node_id}", {
            params: { ...at(one), header: { "If-Match": `"${one.generation}"` } },
            body: { labels: labelsOf(String(values.labels ?? "")) },
          }),
        ),
      ),
    done: "Labels changed",
  };
}

export function drivesSpec(node: Node): ActionSpec<Node> {
  const erase = !node.erase_drives;
  return {
    label: erase ? "Erase drives" : "Keep drives",
    danger: !erase,
    description: () =>
      erase
        ? "A wipe erases the drives of the slots and checks that they are empty."
        : "A wipe does not erase the drives of the slots. Its evidence says that they were not examined.",
    run: (one) =>
      refetchAfter(
        body(
          api.PATCH("/api/v1/nodes/{node_id}", {
            params: { ...at(one), header: { "If-Match": `"${one.generation}"` } },
            body: { erase_drives: erase },
          }),
        ),
      ),
    done: erase ? "Drives will be erased" : "Drives will be kept",
  };
}

export function labelsOf(text: string): Record<string, string> {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf("=");
      return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}

export const SLOT_ACTIONS: ActionTable<Slot> = {
  slot_enable: {
    label: "Enable",
    run: (one) =>
      refetchAfter(
        body(api.POST("/api/v1/slots/{slot_id}/enable", { params: { path: { slot_id: one.id } } })),
      ),
    done: "Back in the pool",
  },
  slot_disable: {
    label: "Disable",
    description: () => "Takes the GPU out of the pool.",
    form: REASON_FORM,
    run: (one, values) =>
      refetchAfter(
        body(
          api.POST("/api/v1/slots/{slot_id}/disable", {
            params: { path: { slot_id: one.id } },
            body: { reason: String(values.reason) },
          }),
        ),
      ),
    done: "Out of the pool",
  },
};

const TOKENS = ["enrolment-tokens", PLATFORM] as const;

export const tokenCreateSpec: ActionSpec<null, Secret> = {
  label: "Enrol hosts",
  primary: true,
  description: () => "Creates a bundle with which new hosts enrol. It is shown once.",
  form: {
    type: "object",
    properties: {
      note: { type: "string", maxLength: 100, "x-ui": { help: "What it is for.", placeholder: "rack 7" } },
      max_uses: {
        type: "integer",
        minimum: 1,
        maximum: 10_000,
        default: 1,
        "x-ui": { label: "How many hosts" },
      },
      expires_in_seconds: {
        type: "integer",
        minimum: 60,
        maximum: 2_592_000,
        default: 3600,
        "x-ui": { label: "Valid for (seconds)" },
      },
    },
  },
  run: async (_, values) => {
    const made = await body(
      api.POST("/api/v1/enrolment-tokens", {
        body: {
          note: values.note ? String(values.note) : null,
          max_uses: Number(values.max_uses ?? 1),
          expires_in_seconds: Number(values.expires_in_seconds ?? 3600),
        },
      }),
    );
    void queries.invalidateQueries({ queryKey: TOKENS });
    return {
      title: "Bundle for new hosts",
      description:
        "Shown once. On the host, write it to /etc/gpuaas/enrolment (mode 0600) and start the agent. The agent removes the file.",
      parts: [{ label: "Bundle", text: made.bundle }],
    };
  },
  done: "Token created",
};

export const tokenRevokeSpec: ActionSpec<EnrolmentToken> = {
  label: "Revoke",
  danger: true,
  description: () => "No further host can enrol with it. Enrolled hosts stay.",
  run: async (one) => {
    await body(api.DELETE("/api/v1/enrolment-tokens/{token_id}", { params: { path: { token_id: one.id } } }));
    void queries.invalidateQueries({ queryKey: TOKENS });
  },
  done: "Revoked",
};
