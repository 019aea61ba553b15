import { box, HostPicture, SlotNumber } from "../allocations/HostPicture";
import type { Slot } from "../api/types";
import { labelOf } from "../parts/states";
import classes from "./SlotMap.module.css";

/** A host's GPUs as they are linked, coloured by what they do. */
export function SlotMap({ slots }: { slots: Slot[] }) {
  const here = slots.filter((slot) => slot.present);
  const status = new Map(here.map((slot) => [slot.slot_index, slot.status]));
  const counts = new Map<string, number>();
  for (const slot of here) counts.set(slot.status, (counts.get(slot.status) ?? 0) + 1);
  const words = [...counts].map(([name, count]) => `${count} ${labelOf(name).toLowerCase()}`).join(", ");
  return (
    <HostPicture
      gpus={here.map((slot) => ({ ...slot, claimed: slot.status === "claimed" }))}
      title={`${here.length} GPUs: ${words}`}
      words={words}
      gpu={(place) => {
        const { x, y, width, height, gpu } = place;
        const now = status.get(gpu.slot_index);
        return (
          <>
            <title>{`GPU ${gpu.slot_index}: ${labelOf(now ?? "")}, ${gpu.gpu_model}`}</title>
            <rect {...box(place)} rx={5} className={classes.gpu} />
            <rect
              x={x}
              y={y + height - 5}
              width={width}
              height={5}
              rx={2}
              className={classes.mark}
              data-status={now}
            />
            <SlotNumber place={place} className={classes.number} rise={2} />
          </>
        );
      }}
    />
  );
}
