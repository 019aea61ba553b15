// A stepped line over time. uPlot is loaded with the first plot that is seen.
import "uplot/dist/uPlot.min.css";
import { useElementSize } from "@mantine/hooks";
import { useEffect, useRef } from "react";
import UPlot from "uplot";
import type { Steps } from "./gpusOverTime";

const HEIGHT = 180;

export default function StepPlot({ steps, label }: { steps: Steps; label: string }) {
  const { ref, width } = useElementSize();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!box.current || width === 0) return;
    const colour = (name: string) => resolved(box.current as HTMLElement, name);
    const axis = {
      stroke: colour("--text-dim"),
      grid: { stroke: colour("--line-soft"), width: 1 },
      ticks: { stroke: colour("--line"), width: 1 },
    };
    const stepped = UPlot.paths.stepped?.({ align: 1 });
    const plot = new UPlot(
      {
        width,
        height: HEIGHT,
        legend: { show: false },
        cursor: { y: false },
        scales: { y: { range: (_, __, most) => [0, Math.max(4, Math.ceil(most * 1.1))] } },
        axes: [axis, { ...axis, size: 40, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000] }],
        series: [
          {},
          {
            label,
            stroke: colour("--accent"),
            fill: colour("--accent-soft"),
            width: 2,
            points: { show: false },
            ...(stepped ? { paths: stepped } : {}),
          },
        ],
      },
      [steps.times, steps.gpus],
      box.current,
    );
    return () => plot.destroy();
  }, [steps, label, width]);
  return (
    <div ref={ref}>
      <div ref={box} aria-hidden="true" />
    </div>
  );
}

/** A colour of the page as a canvas understands it: light-dark() is worked out by the browser. */
function resolved(element: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  element.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
