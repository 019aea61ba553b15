import { HELD_KEY, useHeld } from "../blocked/queries";
import { useReread } from "../live/useReread";
import { HeldPlot } from "../plots/HeldPlot";

/** Left out when there are more allocations than can be looked through: a part of them would draw a wrong line. */
export function FleetPlot() {
  const query = useHeld();
  useReread(HELD_KEY, /^allocation\./, 5000);
  if (!query.data?.whole) return null;
  return <HeldPlot allocations={query.data.items} title="GPUs held on the platform" />;
}
