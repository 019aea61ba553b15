import { useElementSize } from "@mantine/hooks";
import { type ReactNode, useId } from "react";
import type { HostGpu } from "../api/types";
import classes from "./HostPicture.module.css";
import { type Box, fittingPicture, type GpuPlace } from "./topologyLayout";

interface Props {
  gpus: readonly HostGpu[];
  /** The picture, for those who do not see it. */
  title: string;
  /** Below the picture. */
  words: string;
  /** A GPU at its place. */
  gpu: (place: GpuPlace) => ReactNode;
}

/** A host's GPUs in their NUMA nodes and NVLink groups; what each of them is, the page draws. */
export function HostPicture({ gpus, title, words, gpu }: Props) {
  const id = useId();
  const { ref, width } = useElementSize();
  const picture = fittingPicture(gpus, width);
  return (
    <figure className={classes.picture} ref={ref}>
      <svg
        viewBox={`-1 -1 ${picture.width + 2} ${picture.height + 2}`}
        width={picture.width + 2}
        role="img"
        aria-labelledby={id}
      >
        <title id={id}>{title}</title>
        {picture.numas.map((numa) => (
          <g key={String(numa.numa)}>
            <rect {...box(numa)} rx={8} className={classes.numa} />
            <text x={numa.x + 10} y={numa.y + 18} className={classes.label}>
              {numa.numa === null ? "NUMA unknown" : `NUMA ${numa.numa}`}
            </text>
            {numa.links.map((link) => (
              <g key={String(link.group)}>
                <rect {...box(link)} rx={6} className={classes.link} />
                <text x={link.x + 10} y={link.y + 14} className={classes.label}>
                  {link.group === null ? "no NVLink" : `NVLink ${link.group}`}
                </text>
                {link.gpus.map((place) => (
                  <g key={place.gpu.slot_index}>{gpu(place)}</g>
                ))}
              </g>
            ))}
          </g>
        ))}
      </svg>
      <figcaption className={classes.words}>{words}</figcaption>
    </figure>
  );
}

interface NumberProps {
  place: GpuPlace;
  className: string | undefined;
  /** How far above the middle. */
  rise?: number;
  claimed?: boolean;
}

/** The number of a GPU, in the middle of its box. */
export function SlotNumber({ place, className, rise = 0, claimed }: NumberProps) {
  return (
    <text
      x={place.x + place.width / 2}
      y={place.y + place.height / 2 - rise}
      className={`${classes.number} ${className}`}
      data-claimed={claimed}
    >
      {place.gpu.slot_index}
    </text>
  );
}

export function box({ x, y, width, height }: Box): Box {
  return { x, y, width, height };
}
