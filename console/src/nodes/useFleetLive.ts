import { useRefetch } from "../live/useRefetch";
import { MAP_KEY } from "./queries";

/** Keeps the map of slots true: what happens to nodes and allocations changes it. */
export function useFleetLive(): void {
  useRefetch(MAP_KEY, /^(node|allocation)\./, 500);
}
