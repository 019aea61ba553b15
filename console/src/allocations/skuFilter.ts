// The API picks by state; by SKU we pick among what is loaded. The table loads on while it has few rows to show.
import type { Listing } from "../api/pages";
import type { Allocation } from "../api/types";

export function ofSku(listing: Listing<Allocation>, sku: string | null): Listing<Allocation> {
  if (!sku) return listing;
  const rows = listing.rows.filter((one) => one.sku_name === sku);
  // The list is empty only when all pages were loaded.
  return { ...listing, rows, pending: listing.pending || (rows.length === 0 && listing.more) };
}
