import { Text } from "@mantine/core";
import { KeyValues } from "../parts/KeyValues";
import { Panel } from "../parts/Panel";
import { ProblemPanel } from "../parts/ProblemPanel";
import { Snippet } from "../parts/Snippet";
import { exactTime } from "../parts/time";
import { useTimeline } from "./queries";

interface Check {
  name?: unknown;
  status?: unknown;
  clean?: unknown;
  relies_on?: unknown;
  examined?: unknown;
}

/** One line per check: its result, how much it examined, and what it relies on. */
export function checkLines(evidence: Record<string, unknown>): [string, string][] {
  const checks = Array.isArray(evidence.checks) ? (evidence.checks as Check[]) : [];
  return checks.map((one) => {
    const status = typeof one.status === "string" ? one.status : one.clean === true ? "clean" : "found";
    const parts = [status.replace("_", " "), `${String(one.examined ?? 0)} examined`];
    if (typeof one.relies_on === "string") parts.push(`relies on ${one.relies_on}`);
    return [String(one.name), parts.join(", ")];
  });
}

/** The evidence of the wipe, or the person and reason of a forced clean-up. */
export function WipeProof({ project, allocation }: { project: string; allocation: string }) {
  const { data } = useTimeline(project, allocation);
  if (!data?.wipe_evidence && !data?.forced) return null;
  return (
    <Panel title="Wipe evidence">
      <div className="stack">
        {data.forced && (
          <ProblemPanel
            tone="warn"
            title="Freed without proof"
            problem={{
              code: "not_verified",
              message: `${String(data.forced.reason ?? "")} (by ${String(data.forced.by ?? "somebody")}${
                typeof data.forced.at === "string" ? `, ${exactTime(data.forced.at)}` : ""
              })`,
              next_step: `None. Evidence given: ${String(data.forced.evidence ?? "none")}`,
            }}
          />
        )}
        {data.wipe_evidence && (
          <div>
            <Text size="sm" c="dimmed" mb={6}>
              What the verification looked at and found:
            </Text>
            <KeyValues items={checkLines(data.wipe_evidence)} />
            <Snippet label="Evidence of the wipe" text={JSON.stringify(data.wipe_evidence, null, 2)} wrap />
          </div>
        )}
      </div>
    </Panel>
  );
}
