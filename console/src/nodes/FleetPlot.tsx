import { PLATFORM_ALLOCATIONS_KEY, usePlatformAllocations } from "../blocked/queries";
import { useRefetch } from "../live/useRefetch";
import { AllocatedGpusPlot } from "../plots/AllocatedGpusPlot";

/** Left out when there are more allocations than can be looked through: a part of them would draw a wrong line. */
export function FleetPlot() {
  const query = usePlatformAllocations();
  useRefetch(PLATFORM_ALLOCATIONS_KEY, /^allocation\./, 5000);
  if (!query.data?.whole) return null;
  return <AllocatedGpusPlot allocations={query.data.items} title="GPUs allocated on the platform" />;
}
