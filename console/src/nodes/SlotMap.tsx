import { useElementSize } from "@mantine/hooks";
import { useId } from "react";
import { fittingPicture } from "../allocations/topologyLayout";
import type { Slot } from "../api/types";
import { labelOf } from "../parts/states";
import classes from "./SlotMap.module.css";

/** A host's GPUs as they are linked, coloured by what they do. */
export function SlotMap({ slots }: { slots: Slot[] }) {
  const id = useId();
  const { ref, width } = useElementSize();
  const here = slots.filter((slot) => slot.present);
  const picture = fittingPicture(
    here.map((slot) => ({ ...slot, claimed: slot.status === "claimed" })),
    width,
  );
  const status = new Map(here.map((slot) => [slot.slot_index, slot]));
  const counts = new Map<string, number>();
  for (const slot of here) counts.set(slot.status, (counts.get(slot.status) ?? 0) + 1);
  const words = [...counts].map(([name, count]) => `${count} ${labelOf(name).toLowerCase()}`).join(", ");
  return (
    <figure className={classes.picture} ref={ref}>
      <svg
        viewBox={`-1 -1 ${picture.width + 2} ${picture.height + 2}`}
        width={picture.width + 2}
        role="img"
        aria-labelledby={id}
      >
        <title id={id}>{`${here.length} GPUs: ${words}`}</title>
        {picture.numas.map((numa) => (
          <g key={String(numa.numa)}>
            <rect
              x={numa.x}
              y={numa.y}
              width={numa.width}
              height={numa.height}
              rx={8}
              className={classes.numa}
            />
            <text x={numa.x + 10} y={numa.y + 18} className={classes.label}>
              {numa.numa === null ? "NUMA not known" : `NUMA ${numa.numa}`}
            </text>
            {numa.links.map((link) => (
              <g key={String(link.group)}>
                <rect
                  x={link.x}
                  y={link.y}
                  width={link.width}
                  height={link.height}
                  rx={6}
                  className={classes.link}
                />
                <text x={link.x + 10} y={link.y + 14} className={classes.label}>
                  {link.group === null ? "no NVLink" : `NVLink ${link.group}`}
                </text>
                {link.gpus.map(({ gpu, x, y, width, height }) => {
                  const slot = status.get(gpu.slot_index);
                  return (
                    <g key={gpu.slot_index}>
                      <title>{`GPU ${gpu.slot_index}: ${labelOf(slot?.status ?? "")}, ${gpu.gpu_model}`}</title>
                      <rect x={x} y={y} width={width} height={height} rx={5} className={classes.gpu} />
                      <rect
                        x={x}
                        y={y + height - 5}
                        width={width}
                        height={5}
                        rx={2}
                        className={classes.mark}
                        data-status={slot?.status}
                      />
                      <text x={x + width / 2} y={y + height / 2 - 2} className={classes.number}>
                        {gpu.slot_index}
                      </text>
                    </g>
                  );
                })}
              </g>
            ))}
          </g>
        ))}
      </svg>
      <figcaption className={classes.words}>{words}</figcaption>
    </figure>
  );
}
