// Ctrl-K: pages, and things of the project in view by name or id.
import "@mantine/spotlight/styles.css";
import {
  createSpotlight,
  Spotlight,
  type SpotlightActionData,
  type SpotlightActionGroupData,
} from "@mantine/spotlight";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { api, body } from "../../api/client";
import { keys } from "../../api/keys";
import { isOperator } from "../../api/rights";
import { pageOf } from "../../audit/ResourceLink";
import { Icon } from "../../parts/Icon";
import { useMaybeProject } from "../project";
import { useSession } from "../session";
import { OPERATOR_PLACES, PROJECT_PLACES } from "./navigation";

const [store, spotlight] = createSpotlight();
const MOST = 7;

/** An id is an address: wherever somebody copied it, it leads to the thing. */
const ID = /^[a-z]+_[0-9a-z]{26}$/;

export default function Search({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const go = useGo(onClose);
  const groups = useFound(text.trim().toLowerCase(), go);
  useEffect(() => spotlight.open(), []);
  return (
    <Spotlight
      store={store}
      query={text}
      onQueryChange={setText}
      onSpotlightClose={onClose}
      actions={groups}
      filter={(_, actions) => actions}
      shortcut={null}
      highlightQuery
      scrollable
      maxHeight={420}
      nothingFound="Nothing found"
      searchProps={{
        leftSection: <Icon name="search" size={18} />,
        placeholder: "Search pages, workloads, allocations, apps, or paste an id",
        "aria-label": "Search",
      }}
    />
  );
}

type Go = (to: string) => void;

function useGo(onClose: () => void): Go {
  const navigate = useNavigate();
  return (to) => {
    onClose();
    void navigate({
      to,
      search: (before: { project?: string }) => (before.project ? { project: before.project } : {}),
    } as never);
  };
}

function useFound(wanted: string, go: Go): SpotlightActionGroupData[] {
  const { user } = useSession();
  const places = isOperator(user) ? [...PROJECT_PLACES, ...OPERATOR_PLACES] : PROJECT_PLACES;
  const things = useThings();
  const byId = ID.test(wanted) ? pageOf(wanted) : null;
  const action = (id: string, label: string, description: string, to: string): SpotlightActionData => ({
    id,
    label,
    description,
    onClick: () => go(to),
  });
  const groups: SpotlightActionGroupData[] = [
    {
      group: "Pages",
      actions: places
        .filter((place) => `${place.label} ${place.words ?? ""}`.toLowerCase().includes(wanted))
        .map((place) => ({
          id: place.to,
          label: place.label,
          leftSection: <Icon name={place.icon} />,
          onClick: () => go(place.to),
        })),
    },
    ...things.map(({ group, items }) => ({
      group,
      actions: items
        .filter((one) => wanted !== "" && `${one.label} ${one.id}`.toLowerCase().includes(wanted))
        .slice(0, MOST)
        .map((one) => action(one.id, one.label, one.description, one.to)),
    })),
  ];
  if (byId) groups.unshift({ group: "By id", actions: [action(wanted, wanted, "Open", byId)] });
  return groups.filter((group) => group.actions.length > 0).sort((one, other) => rank(one) - rank(other));

  /** What begins with the words comes before what only has them in it. */
  function rank(group: SpotlightActionGroupData): number {
    return group.actions.some((one) => one.label?.toLowerCase().startsWith(wanted)) ? 0 : 1;
  }
}

interface Thing {
  id: string;
  label: string;
  description: string;
  to: string;
}

function useThings(): { group: string; items: Thing[] }[] {
  const project_id = useMaybeProject()?.id ?? "";
  const params = { path: { project_id }, query: { limit: 200 } };
  const enabled = project_id !== "";
  const instances = useQuery({
    queryKey: [...keys.all("instances", project_id), "search"],
    queryFn: () => body(api.GET("/api/v1/projects/{project_id}/instances", { params })),
    enabled,
  });
  const allocations = useQuery({
    queryKey: [...keys.all("allocations", project_id), "search"],
    queryFn: () => body(api.GET("/api/v1/projects/{project_id}/allocations", { params })),
    enabled,
  });
  const apps = useQuery({
    queryKey: [...keys.all("catalog", project_id), "search"],
    queryFn: () => body(api.GET("/api/v1/projects/{project_id}/catalog", { params })),
    enabled,
  });
  const operations = useQuery({
    queryKey: [...keys.all("operations", project_id), "search"],
    queryFn: () => body(api.GET("/api/v1/projects/{project_id}/operations", { params })),
    enabled,
  });
  return [
    {
      group: "Workloads",
      items: (instances.data?.items ?? []).map((one) => ({
        id: one.id,
        label: one.name,
        description: `${one.app_slug} ${one.version}, ${one.status}`,
        to: `/workloads/${one.id}`,
      })),
    },
    {
      group: "Allocations",
      items: (allocations.data?.items ?? []).map((one) => ({
        id: one.id,
        label: one.name ?? one.id,
        description: `${one.sku_name}, ${one.state}`,
        to: `/allocations/${one.id}`,
      })),
    },
    {
      group: "Apps",
      items: (apps.data?.items ?? []).map((one) => ({
        id: one.id,
        label: one.display_name,
        description: one.description,
        to: `/catalog/${one.slug}`,
      })),
    },
    {
      group: "Operations",
      items: (operations.data?.items ?? []).map((one) => ({
        id: one.id,
        label: `${one.kind} ${one.id}`,
        description: one.status,
        to: `/operations/${one.id}`,
      })),
    },
  ];
}
