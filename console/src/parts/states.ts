// Words and colours of states: labels only. What may be done in a state is the API's to say.
export type Tone = "good" | "busy" | "warn" | "bad" | "quiet" | "info";

const TONES: Record<string, Tone> = {
  active: "good",
  available: "good",
  clean: "good",
  healthy: "good",
  ready: "good",
  running: "good",
  registered: "good",
  succeeded: "good",
  verified: "good",
  done: "good",
  absent: "good",
  granted: "good",
  live: "good",
  schedulable: "good",
  canary: "info",
  claimed: "info",
  staged: "info",
  enrolled: "info",
  discovered: "info",
  open: "info",
  planned: "info",
  cleaning: "busy",
  created: "busy",
  draining: "busy",
  joining: "busy",
  pending: "busy",
  deleting: "busy",
  progressing: "busy",
  provisioning: "busy",
  releasing: "busy",
  removing: "busy",
  requested: "busy",
  starting: "busy",
  stopping: "busy",
  verifying: "busy",
  probing: "busy",
  reconciling: "busy",
  scheduled: "busy",
  noticed: "warn",
  cordoned: "warn",
  drain_planned: "warn",
  in_maintenance: "warn",
  no_consent: "warn",
  no_controller: "warn",
  silent: "warn",
  degraded: "warn",
  deprecated: "warn",
  expired: "warn",
  not_verified: "warn",
  unseen: "warn",
  not_seen: "warn",
  unverified: "warn",
  expiring: "warn",
  blocked: "bad",
  cleanup_blocked: "bad",
  denied: "bad",
  failed: "bad",
  failed_verification: "bad",
  left: "bad",
  lost: "bad",
  release_failed: "bad",
  revoked: "bad",
  unhealthy: "bad",
};

/** Unknown states are quiet: a newer API must not look broken. */
export function toneOf(state: string): Tone {
  return TONES[state] ?? "quiet";
}

const SHORT = /\b(api|ca|cpu|gpu|gpus|id|numa|oci|sku|ssh|tls)\b/g;

export function labelOf(state: string): string {
  const words = state
    .replaceAll("_", " ")
    .replaceAll(SHORT, (short) => (short === "gpus" ? "GPUs" : short.toUpperCase()));
  return words.charAt(0).toUpperCase() + words.slice(1);
}
