import { ActionButton } from "../actions/ActionButton";
import { actionsColumn } from "../actions/columns";
import type { ServiceAccount, ServiceAccountCertificate } from "../api/types";
import { monoColumn, timeColumn } from "../parts/columns";
import { Empty } from "../parts/Loaded";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { certificateDeleteSpec } from "./certificateActions";
import { useAccountCertificates } from "./queries";

/** The client certificates that tokens of the account can be bound to. */
export function AccountCertificates({ account }: { account: ServiceAccount }) {
  const listing = useAccountCertificates(account.project_id, account.id);
  const columns: Column<ServiceAccountCertificate>[] = [
    monoColumn("thumbprint", "Certificate", (one) => one.thumbprint, "minmax(9rem, 2fr)"),
    timeColumn("used", "Used", (one) => one.last_used_at, "6rem"),
    timeColumn("expires", "Expires", (one) => one.expires_at, "6rem"),
    actionsColumn(
      (one) =>
        account.allowed_actions.includes("service_account_certificate_delete") && (
          <ActionButton
            spec={certificateDeleteSpec(account)}
            resource={one}
            name={one.id}
            size="compact-xs"
          />
        ),
      "6rem",
    ),
  ];
  return (
    <ResourceTable
      plain
      label="Certificates"
      columns={columns}
      listing={listing}
      rowId={(one) => one.id}
      empty={
        <Empty
          icon="key"
          title="No certificates"
          text="With a client certificate, a stolen token is useless without the program's private key."
        />
      }
    />
  );
}
