import { SegmentedControl, Text } from "@mantine/core";
import { lazy, Suspense, useMemo, useState } from "react";
import { Loading } from "../parts/Loaded";
import { Panel } from "../parts/Panel";
import { type AllocationSpan, gpusOverTime, wordsOf } from "./gpusOverTime";

const StepPlot = lazy(() => import("./StepPlot"));
const HOUR = 3_600_000;
const SPANS = { "1 hour": HOUR, "24 hours": 24 * HOUR, "7 days": 168 * HOUR, "30 days": 720 * HOUR };
type Span = keyof typeof SPANS;

/** Shows allocated GPUs over time. It needs all allocations of that time; with only some of them the line would be wrong. */
export function AllocatedGpusPlot({
  allocations,
  title,
}: {
  allocations: readonly AllocationSpan[];
  title: string;
}) {
  const [span, setSpan] = useState<Span>(() => fitting(allocations));
  const steps = useMemo(() => {
    const now = Date.now();
    return gpusOverTime(allocations, now - SPANS[span], now);
  }, [allocations, span]);
  return (
    <Panel
      title={title}
      aside={
        <SegmentedControl
          size="xs"
          aria-label="Time"
          data={Object.keys(SPANS)}
          value={span}
          onChange={(next) => setSpan(next as Span)}
        />
      }
    >
      <Suspense fallback={<Loading label="Loading the plot" />}>
        <StepPlot steps={steps} label={title} />
      </Suspense>
      <Text size="sm" c="dimmed" mt="xs">
        {wordsOf(steps)}
      </Text>
    </Panel>
  );
}

/** A young platform has its whole story in an hour. */
function fitting(allocations: readonly AllocationSpan[]): Span {
  const first = Math.min(...allocations.map((one) => Date.parse(one.created_at)));
  return Date.now() - first < HOUR ? "1 hour" : "24 hours";
}
