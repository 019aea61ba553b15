// The parts of an app's manifest that pages show. The API checked it against contract/app-manifest.schema.json.
import type { Schema } from "../forms/schema";

export interface Compatibility {
  requires_capacity_shape?: string[];
  min_gpu_count?: number;
  max_gpu_count?: number;
  requires_exclusive_node?: boolean;
  requires_node_network?: boolean;
}

export interface Component {
  key: string;
  display_name?: string;
  min: number;
  max: number;
  placement?: "shared" | "own_allocation" | "own_node";
  depends_on?: string[];
  compatibility?: Compatibility;
}

export interface Manifest {
  artifact?: { kind?: string; digest?: string };
  compatibility?: Compatibility;
  components?: Component[];
  inputs?: Schema;
  options?: Record<string, Schema>;
  footprint?: Record<string, unknown[]>;
  probes?: { key: string; component: string; kind: string; port?: number }[];
  ui?: {
    documentation_url?: string;
    endpoints?: { key: string; label?: string; component: string; port: number; protocol?: string }[];
  };
  secrets?: {
    key: string;
    source: "generated" | "given";
    display_name?: string;
    description?: string;
    required?: boolean;
  }[];
  metering?: { key: string; unit: string; description?: string }[];
}

export function componentsOf(manifest: Manifest): Component[] {
  return manifest.components ?? [];
}

/** What people call the component. */
export function componentName(manifest: Manifest, key: string): string {
  return componentsOf(manifest).find((one) => one.key === key)?.display_name ?? key;
}

export function inputsOf(manifest: Manifest): Schema {
  return manifest.inputs ?? { type: "object", properties: {} };
}

/** The form for the secrets that people give at launch. */
export function secretsOf(manifest: Manifest): Schema {
  const given = (manifest.secrets ?? []).filter((one) => one.source === "given");
  const field = (one: (typeof given)[number]): Schema => ({
    type: "string",
    format: "password",
    "x-ui": { label: one.display_name ?? one.key, help: one.description },
  });
  return {
    type: "object",
    required: given.filter((one) => one.required ?? true).map((one) => one.key),
    properties: Object.fromEntries(given.map((one) => [one.key, field(one)])),
  };
}

/** What an allocation must be, in words. */
export function demands(compatibility: Compatibility | undefined): string[] {
  if (!compatibility) return [];
  const { requires_capacity_shape: shapes, min_gpu_count: least, max_gpu_count: most } = compatibility;
  return [
    shapes?.length ? `runs on ${shapes.map(shapeName).join(" or ")}` : "",
    least ? `at least ${least} GPUs` : "",
    most !== undefined ? `at most ${most} GPUs` : "",
    compatibility.requires_exclusive_node ? "needs a whole node" : "",
    compatibility.requires_node_network ? "members on several nodes need the nodes' own network" : "",
  ].filter(Boolean);
}

export function shapeName(shape: string): string {
  return { baremetal: "bare metal", gpu_slice: "a GPU slice" }[shape] ?? shape;
}

export function placementName(placement: Component["placement"]): string {
  return {
    shared: "may share an allocation with other components",
    own_allocation: "needs its own allocation",
    own_node: "needs its own node",
  }[placement ?? "shared"];
}

export function countName(component: Component): string {
  if (component.min === component.max) return String(component.min);
  return `${component.min} to ${component.max}`;
}
