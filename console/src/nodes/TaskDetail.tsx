import { Stack, Text } from "@mantine/core";
import type { Task } from "../api/types";
import { KeyValues, Mono } from "../parts/KeyValues";
import { Loaded } from "../parts/Loaded";
import { PhaseChart, type Span } from "../parts/PhaseChart";
import { Correlation, ProblemPanel } from "../parts/ProblemPanel";
import { RelativeTime } from "../parts/RelativeTime";
import { SideDrawer } from "../parts/SideDrawer";
import { Snippet } from "../parts/Snippet";
import { StateBadge } from "../parts/StateBadge";
import { useTask } from "./queries";

/** One thing that a host was told to do: the order, phase by phase what happened, and the evidence. */
export function TaskDetail({ id, onClose }: { id: string; onClose: () => void }) {
  const query = useTask(id);
  return (
    <SideDrawer title={query.data?.kind ?? "Task"} size="xl" onClose={onClose}>
      <Loaded query={query}>{(task) => <Shown task={task} />}</Loaded>
    </SideDrawer>
  );
}

function Shown({ task }: { task: Task }) {
  const spans = spansOf(task);
  return (
    <Stack gap="lg">
      {task.failure && (
        <ProblemPanel
          problem={{
            code: String(task.failure.code ?? "failed"),
            message: String(task.failure.message ?? ""),
            next_step: String(task.failure.next_step ?? "Check the host."),
            correlation_id: task.correlation_id,
          }}
        />
      )}
      <KeyValues
        items={[
          ["Status", <StateBadge key="status" state={task.status} />],
          ["Resource", <Mono key="about" text={task.resource_id} copy="Copy ID" />],
          ["Told", <RelativeTime key="told" at={task.created_at} />],
          ["Deadline", <RelativeTime key="deadline" at={task.deadline} />],
          ["Request", <Correlation key="correlation" id={task.correlation_id} />],
        ]}
      />
      {spans.length > 0 && <PhaseChart spans={spans} label="Phases on the host" />}
      {(["spec", "result", "evidence"] as const).map(
        (part) =>
          task[part] &&
          Object.keys(task[part]).length > 0 && (
            <div key={part}>
              <Text size="xs" c="dimmed" mb={4}>
                {{ spec: "Order", result: "Result", evidence: "Evidence" }[part]}
              </Text>
              <Snippet label={part} text={JSON.stringify(task[part], null, 2)} wrap />
            </div>
          ),
      )}
    </Stack>
  );
}

function spansOf(task: Task): Span[] {
  return task.phases.flatMap((phase, index) =>
    typeof phase.started_at === "string"
      ? [
          {
            key: String(index),
            name: String(phase.name ?? index),
            from: phase.started_at,
            to: typeof phase.finished_at === "string" ? phase.finished_at : null,
            status: String(phase.status ?? ""),
            detail: phase.detail ? String(phase.detail) : null,
          },
        ]
      : [],
  );
}
