// Short names for the wire types that pages speak of. Generated: nothing here is kept by hand.
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Me = Schemas["Me"];
export type Project = Schemas["Project"];
export type Tenant = Schemas["Tenant"];
export type Deletion = Schemas["Deletion"];
export type Allocation = Schemas["Allocation"];
export type Sku = Schemas["Sku"];
/** The grades that can be required; one is reserved. */
export type AskedWipeGrade = NonNullable<Schemas["SkuUpdate"]["wipe_grade"]>;
export type CatalogApp = Schemas["CatalogApp"];
export type CatalogEntry = Schemas["CatalogEntry"];
export type CatalogVersion = Schemas["CatalogVersion"];
export type InstanceSummary = Schemas["InstanceSummary"];
export type Instance = Schemas["Instance"];
export type InstanceStarted = Schemas["InstanceStarted"];
export type InstanceMember = Schemas["InstanceMember"];
export type MemberKind = Schemas["MemberOperationCreate"]["kind"];
export type OperationKind = Schemas["Operation"]["kind"];
export type HealthReason = Schemas["HealthReason"];
export type LogLine = Schemas["LogLine"];
export type LogPage = Schemas["LogPage"];
export type Operation = Schemas["Operation"];
export type OperationStep = Schemas["OperationStep"];
export type Failure = Schemas["OperationFailure"];
export type Receipt = Schemas["Receipt"];
export type ReceiptLine = Schemas["ReceiptLine"];
export type TimelineEvent = Schemas["TimelineEvent"];
export type Event = Schemas["Event"];
export type AuditRecord = Schemas["AuditRecord"];
export type MaintenanceWindow = Schemas["MaintenanceWindow"];
export type HostReport = Schemas["HostReport"];
export type Node = Schemas["Node"];
export type ServiceAccountCreate = Schemas["ServiceAccountCreate"];
export type ServiceAccountUpdate = Schemas["ServiceAccountUpdate"];
export type EventPage = Schemas["EventPage"];
export type AllocationTimeline = Schemas["Timeline"];
export type TimelineEntry = Schemas["TimelineEntry"];
export type Topology = Schemas["Topology"];
export type HostGpu = Schemas["HostGpu"];
export type InstanceSecret = Schemas["InstanceSecret"];
export type ServedProject = Schemas["ServedProject"];
export type UsageRecord = Schemas["UsageRecord"];
export type UsageTotal = Schemas["UsageTotal"];
export type Terminal = Schemas["Terminal"];
export type SshGrant = Schemas["SshGrant"];
export type SshKey = Schemas["SshKey"];
export type IssuedSshCertificate = Schemas["IssuedSshCertificate"];
export type Quota = Schemas["Quota"];
export type Slot = Schemas["Slot"];
export type NodeSlots = Schemas["NodeSlots"];
export type MappedSlot = Schemas["MappedSlot"];
export type Task = Schemas["Task"];
export type EnrolmentToken = Schemas["EnrolmentToken"];
export type Artifact = Schemas["Artifact"];
export type Evidence = Schemas["Evidence"];
export type GarbageArtifact = Schemas["GarbageArtifact"];
export type PublishIntent = Schemas["PublishIntent"];
export type TrustKey = Schemas["TrustKey"];
export type AccessCredential = Schemas["AccessCredential"];
export type CredentialDelivery = Schemas["CredentialDelivery"];
export type Member = Schemas["Member"];
export type User = Schemas["User"];
export type ServiceAccount = Schemas["ServiceAccount"];
export type ServiceAccountCertificate = Schemas["ServiceAccountCertificate"];
export type ServiceAccountKey = Schemas["ServiceAccountKey"];
export type ControllerOffer = Schemas["ControllerOffer"];
export type Entitlement = Schemas["Entitlement"];
export type App = Schemas["App"];
export type AppVersion = Schemas["AppVersion"];

export interface Page<T> {
  items: T[];
  next_cursor?: string | null;
}
