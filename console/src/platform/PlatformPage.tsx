import { isAdministrator } from "../api/admin";
import { useSession } from "../app/session";
import { PageHead } from "../parts/PageHead";
import { Tabbed } from "../parts/Tabbed";
import { AllApps } from "./AllApps";
import { AllUsers } from "./AllUsers";
import { Keys } from "./Keys";
import { Skus } from "./Skus";

export function PlatformPage() {
  const may = isAdministrator(useSession().user);
  return (
    <>
      <PageHead title="Platform" lead="What is offered, to whom, and the keys that all of it rests on." />
      <Tabbed
        label="Parts of the platform"
        tabs={[
          { key: "skus", label: "SKUs", content: () => <Skus may={may} /> },
          { key: "apps", label: "Apps", content: () => <AllApps may={may} /> },
          { key: "users", label: "Users", content: () => <AllUsers may={may} /> },
          { key: "keys", label: "Keys", content: () => <Keys may={may} /> },
        ]}
      />
    </>
  );
}
