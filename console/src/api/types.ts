// Short names for the wire types that pages speak of. Generated: nothing here is kept by hand.
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Me = Schemas["Me"];
export type Project = Schemas["Project"];
export type Tenant = Schemas["Tenant"];
export type Allocation = Schemas["Allocation"];
export type Sku = Schemas["Sku"];
export type CatalogApp = Schemas["CatalogApp"];
export type CatalogEntry = Schemas["CatalogEntry"];
export type CatalogVersion = Schemas["CatalogVersion"];
export type InstanceSummary = Schemas["InstanceSummary"];
export type Instance = Schemas["Instance"];
export type InstanceMember = Schemas["InstanceMember"];
export type HealthReason = Schemas["HealthReason"];
export type Operation = Schemas["Operation"];
export type OperationStep = Schemas["OperationStep"];
export type Failure = Schemas["OperationFailure"];
export type Receipt = Schemas["Receipt"];
export type ReceiptLine = Schemas["ReceiptLine"];
export type TimelineEvent = Schemas["TimelineEvent"];
export type Event = Schemas["Event"];
export type AuditRecord = Schemas["AuditRecord"];
export type Node = Schemas["Node"];

export interface Page<T> {
  items: T[];
  next_cursor?: string | null;
}
