import { Combobox, InputBase, useCombobox } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { Project } from "../../api/types";
import { Icon } from "../../parts/Icon";
import classes from "./ProjectSwitcher.module.css";

const MOST = 100;

/** Chooses the project in view. Going to another one leaves the thing that was open: it is not in there. */
export function ProjectSwitcher({ project, projects }: { project: Project | null; projects: Project[] }) {
  const navigate = useNavigate();
  const [text, setText] = useState("");
  const combobox = useCombobox({
    onDropdownClose: () => {
      combobox.resetSelectedOption();
      setText("");
    },
    onDropdownOpen: () => combobox.focusSearchInput(),
  });
  const wanted = text.trim().toLowerCase();
  const found = projects.filter((one) => `${one.name} ${one.slug} ${one.id}`.toLowerCase().includes(wanted));
  const choose = (id: string) => {
    combobox.closeDropdown();
    void navigate({ to: listOf(location.pathname), search: { project: id } } as never);
  };
  return (
    <Combobox store={combobox} onOptionSubmit={choose} withinPortal={false}>
      <Combobox.Target targetType="button">
        <InputBase
          component="button"
          type="button"
          pointer
          size="sm"
          aria-label={`Project ${project?.name ?? "not chosen"}`}
          className={classes.target}
          rightSection={<Icon name="down" size={14} />}
          rightSectionPointerEvents="none"
          onClick={() => combobox.toggleDropdown()}
        >
          {project?.name ?? "No project"}
        </InputBase>
      </Combobox.Target>
      <Combobox.Dropdown>
        <Combobox.Search
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          placeholder="Find a project"
          aria-label="Find a project"
        />
        <Combobox.Options mah={320} className={classes.options} aria-label="Projects">
          {found.slice(0, MOST).map((one) => (
            <Combobox.Option key={one.id} value={one.id} active={one.id === project?.id}>
              <span className={classes.name}>{one.name}</span>
              <span className={classes.slug}>{one.slug}</span>
            </Combobox.Option>
          ))}
          {found.length === 0 && <Combobox.Empty>No such project</Combobox.Empty>}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  );
}

/** "/workloads/ins_…" → "/workloads". */
function listOf(path: string): string {
  const first = path.split("/")[1] ?? "";
  if (first === "ops") return "/"; // those pages are of no project
  return ["operations", "launch"].includes(first) ? "/workloads" : `/${first}`;
}
