import { Tabs } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";

export interface Tab {
  key: string;
  label: string;
  content: () => ReactNode;
}

/** Parts of a page of which one is seen; which one is in the address, so that a link leads to it. */
export function Tabbed({ tabs, label }: { tabs: Tab[]; label: string }) {
  const wanted = (useSearch({ strict: false }) as { tab?: string }).tab;
  const navigate = useNavigate();
  const shown = tabs.find((tab) => tab.key === wanted) ?? tabs[0];
  const choose = (tab: string | null) =>
    void navigate({
      to: ".",
      search: (before: object) => ({ ...before, tab: tab ?? undefined }),
      replace: true,
    } as never);
  return (
    <Tabs value={shown?.key ?? null} onChange={choose} keepMounted={false}>
      <Tabs.List aria-label={label} mb="md">
        {tabs.map((tab) => (
          <Tabs.Tab key={tab.key} value={tab.key}>
            {tab.label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map((tab) => (
        <Tabs.Panel key={tab.key} value={tab.key}>
          {tab.key === shown?.key && tab.content()}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
