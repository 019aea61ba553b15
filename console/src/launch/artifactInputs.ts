// Inputs that name an artifact of the project become a choice of those that can be launched.
import type { Artifact } from "../api/types";
import type { Schema } from "../forms/schema";

export function asksForArtifacts(inputs: Schema): boolean {
  return Object.values(inputs.properties ?? {}).some((one) => one["x-artifact"] !== undefined);
}

export function withArtifacts(inputs: Schema, artifacts: Artifact[]): Schema {
  const properties = Object.entries(inputs.properties ?? {}).map(([name, one]) => [
    name,
    one["x-artifact"] === undefined ? one : asChoice(one, artifacts),
  ]);
  return { ...inputs, properties: Object.fromEntries(properties) };
}

function asChoice(input: Schema, artifacts: Artifact[]): Schema {
  const fitting = artifacts.filter((one) => one.kind === input["x-artifact"]);
  if (fitting.length === 0) return input;
  const labels = Object.fromEntries(
    fitting.map((one) => [one.digest, `${one.name} ${one.digest.slice(7, 19)}`]),
  );
  return { ...input, enum: fitting.map((one) => one.digest), "x-ui": { ...input["x-ui"], labels } };
}
