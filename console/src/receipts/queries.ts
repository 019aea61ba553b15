import { useQuery } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import { PAGE_SIZE, useListing } from "../api/pages";

export interface ReceiptFilter {
  instance_id?: string;
  operation_id?: string;
  allocation_id?: string;
}

export function useReceipts(project_id: string, filter: ReceiptFilter) {
  return useListing(keys.list("receipts", project_id, filter), (after, signal) =>
    body(
      api.GET("/api/v1/projects/{project_id}/receipts", {
        params: { path: { project_id }, query: { limit: PAGE_SIZE, after, ...filter } },
        signal,
      }),
    ),
  );
}

export function useReceipt(project_id: string, receipt_id: string) {
  return useQuery({
    queryKey: keys.one("receipts", project_id, receipt_id),
    queryFn: ({ signal }) =>
      body(
        api.GET("/api/v1/projects/{project_id}/receipts/{receipt_id}", {
          params: { path: { project_id, receipt_id } },
          signal,
        }),
      ),
  });
}
