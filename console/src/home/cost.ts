// What runs costs its SKU's price for each GPU and hour. An estimate for people; what is billed comes from the ledger.
import type { Allocation, Sku } from "../api/types";

export interface Cost {
  currency: string;
  /** In minor units. */
  perHour: number;
  /** Since each of them became active. */
  sinceStart: number;
}

export function costOf(allocations: Allocation[], skus: Sku[], now: number): Cost[] {
  const prices = new Map(skus.map((sku) => [sku.id, sku]));
  const sums = new Map<string, Cost>();
  for (const one of allocations) {
    const sku = prices.get(one.sku_id);
    if (!sku || !one.active_at || one.ended_at) continue;
    const perHour = sku.price_per_gpu_hour_minor * one.gpu_count;
    const hours = Math.max(0, now - Date.parse(one.active_at)) / 3_600_000;
    const sum = sums.get(sku.currency) ?? { currency: sku.currency, perHour: 0, sinceStart: 0 };
    sum.perHour += perHour;
    sum.sinceStart += perHour * hours;
    sums.set(sku.currency, sum);
  }
  return [...sums.values()];
}
