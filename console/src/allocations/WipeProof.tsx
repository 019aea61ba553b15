import { Text } from "@mantine/core";
import { Panel } from "../parts/Panel";
import { ProblemPanel } from "../parts/ProblemPanel";
import { Snippet } from "../parts/Snippet";
import { exactTime } from "../parts/time";
import { useTimeline } from "./queries";

/** What was seen after the wipe; or who gave the GPUs back without a proof, and what they said. */
export function WipeProof({ project, allocation }: { project: string; allocation: string }) {
  const { data } = useTimeline(project, allocation);
  if (!data?.wipe_evidence && !data?.forced) return null;
  return (
    <Panel title="Proof of the wipe">
      <div className="stack">
        {data.forced && (
          <ProblemPanel
            tone="warn"
            title="Given back without proof"
            problem={{
              code: "not_verified",
              message: `${String(data.forced.reason ?? "")} (by ${String(data.forced.by ?? "somebody")}${
                typeof data.forced.at === "string" ? `, ${exactTime(data.forced.at)}` : ""
              })`,
              next_step: `Nothing; this was looked at: ${String(data.forced.evidence ?? "nothing is said")}`,
            }}
          />
        )}
        {data.wipe_evidence && (
          <div>
            <Text size="sm" c="dimmed" mb={6}>
              What the verification looked at and found:
            </Text>
            <Snippet label="Evidence of the wipe" text={JSON.stringify(data.wipe_evidence, null, 2)} wrap />
          </div>
        )}
      </div>
    </Panel>
  );
}
