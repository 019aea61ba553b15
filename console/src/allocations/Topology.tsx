import type { HostGpu } from "../api/types";
import { Empty, Loaded } from "../parts/Loaded";
import { Panel } from "../parts/Panel";
import { box, HostPicture, SlotNumber } from "./HostPicture";
import { useTopology } from "./queries";
import classes from "./Topology.module.css";
import { wordsOf } from "./topologyLayout";

export function Topology({ project, allocation }: { project: string; allocation: string }) {
  const topology = useTopology(project, allocation);
  return (
    <Panel title="GPUs on the host" aside={topology.data && <span>{topology.data.gpus[0]?.gpu_model}</span>}>
      <Loaded query={topology}>
        {({ gpus }) =>
          gpus.length === 0 ? <Empty icon="cpu" title="The host reports no GPUs" /> : <Picture gpus={gpus} />
        }
      </Loaded>
    </Panel>
  );
}

function Picture({ gpus }: { gpus: HostGpu[] }) {
  const words = wordsOf(gpus);
  return (
    <HostPicture
      gpus={gpus}
      title={words}
      words={words}
      gpu={(place) => (
        <>
          <title>{titleOf(place.gpu)}</title>
          <rect {...box(place)} rx={5} className={classes.gpu} data-claimed={place.gpu.claimed} />
          <SlotNumber place={place} className={classes.number} claimed={place.gpu.claimed} />
        </>
      )}
    />
  );
}

function titleOf(gpu: HostGpu): string {
  const memory = gpu.memory_mib ? `, ${Math.round(gpu.memory_mib / 1024)} GiB` : "";
  return `GPU ${gpu.slot_index}: ${gpu.gpu_model}${memory}, ${gpu.pci_address}${gpu.claimed ? ", in this allocation" : ""}`;
}
