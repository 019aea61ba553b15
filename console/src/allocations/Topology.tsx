import { useElementSize } from "@mantine/hooks";
import { useId } from "react";
import type { HostGpu } from "../api/types";
import { Empty, Loaded } from "../parts/Loaded";
import { Panel } from "../parts/Panel";
import { useTopology } from "./queries";
import classes from "./Topology.module.css";
import { fittingPicture, wordsOf } from "./topologyLayout";

export function Topology({ project, allocation }: { project: string; allocation: string }) {
  const topology = useTopology(project, allocation);
  return (
    <Panel title="Place on the host" aside={topology.data && <span>{topology.data.gpus[0]?.gpu_model}</span>}>
      <Loaded query={topology}>
        {({ gpus }) =>
          gpus.length === 0 ? <Empty icon="cpu" title="The host reports no GPUs" /> : <Picture gpus={gpus} />
        }
      </Loaded>
    </Panel>
  );
}

function Picture({ gpus }: { gpus: HostGpu[] }) {
  const id = useId();
  const { ref, width } = useElementSize();
  const picture = fittingPicture(gpus, width);
  const words = wordsOf(gpus);
  return (
    <figure className={classes.picture} ref={ref}>
      <svg
        viewBox={`-1 -1 ${picture.width + 2} ${picture.height + 2}`}
        width={picture.width + 2}
        role="img"
        aria-labelledby={id}
      >
        <title id={id}>{words}</title>
        {picture.numas.map((numa) => (
          <g key={String(numa.numa)}>
            <rect {...box(numa)} rx={8} className={classes.numa} />
            <text x={numa.x + 10} y={numa.y + 18} className={classes.label}>
              {numa.numa === null ? "NUMA not known" : `NUMA ${numa.numa}`}
            </text>
            {numa.links.map((link) => (
              <g key={String(link.group)}>
                <rect {...box(link)} rx={6} className={classes.link} />
                <text x={link.x + 10} y={link.y + 14} className={classes.label}>
                  {link.group === null ? "no NVLink" : `NVLink ${link.group}`}
                </text>
                {link.gpus.map(({ gpu, ...place }) => (
                  <g key={gpu.slot_index}>
                    <title>{titleOf(gpu)}</title>
                    <rect {...box(place)} rx={5} className={classes.gpu} data-claimed={gpu.claimed} />
                    <text
                      x={place.x + place.width / 2}
                      y={place.y + place.height / 2}
                      className={classes.number}
                      data-claimed={gpu.claimed}
                    >
                      {gpu.slot_index}
                    </text>
                  </g>
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

function box(place: { x: number; y: number; width: number; height: number }) {
  return { x: place.x, y: place.y, width: place.width, height: place.height };
}

function titleOf(gpu: HostGpu): string {
  const memory = gpu.memory_mib ? `, ${Math.round(gpu.memory_mib / 1024)} GiB` : "";
  return `GPU ${gpu.slot_index}: ${gpu.gpu_model}${memory}, ${gpu.pci_address}${gpu.claimed ? ", of this allocation" : ""}`;
}
