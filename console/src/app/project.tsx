// The project in view. It is in the address; where it is not, the one that was looked at last, or the first.
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { createContext, type ReactNode, useContext, useEffect } from "react";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import type { Project } from "../api/types";
import { useSession } from "./session";

const ProjectContext = createContext<Project | null>(null);

/** The project in view; pages that need one are shown only when there is one. */
export function useProject(): Project {
  const project = useContext(ProjectContext);
  if (!project) throw new Error("this page needs a project");
  return project;
}

export function useMaybeProject(): Project | null {
  return useContext(ProjectContext);
}

export function ProjectProvider({ project, children }: { project: Project | null; children: ReactNode }) {
  return <ProjectContext.Provider value={project}>{children}</ProjectContext.Provider>;
}

export function useProjects() {
  return useQuery({
    queryKey: keys.projects,
    queryFn: () => body(api.GET("/api/v1/projects", { params: { query: { limit: 200 } } })),
  });
}

/** Finds the project in view and keeps it in the address. */
export function useProjectInView() {
  const { user } = useSession();
  const wanted = useSearch({ from: "/shell", select: (search) => search.project });
  const navigate = useNavigate();
  const projects = useProjects();
  const listed = projects.data?.items ?? [];
  const remembered = localStorage.getItem(memory(user.id));
  const chosen = wanted ?? (listed.find((one) => one.id === remembered) ?? listed[0])?.id;
  // A list does not say what may be done, and an operator may look at a project that is not on its first page.
  const shown = useQuery({
    queryKey: [...keys.projects, chosen],
    queryFn: () =>
      body(api.GET("/api/v1/projects/{project_id}", { params: { path: { project_id: chosen as string } } })),
    enabled: chosen !== undefined,
  });
  const project = shown.data ?? listed.find((one) => one.id === chosen) ?? null;
  const known = project && !listed.some((one) => one.id === project.id) ? [...listed, project] : listed;

  useEffect(() => {
    if (!project) return;
    localStorage.setItem(memory(user.id), project.id);
    if (project.id !== wanted) {
      const search = (before: object) => ({ ...before, project: project.id });
      void navigate({ to: ".", search: search as never, replace: true });
    }
  }, [project, wanted, navigate, user.id]);

  const pending = projects.isPending || (project === null && shown.isEnabled && shown.isPending);
  return { project, projects: known, pending, error: projects.error ?? (project ? null : shown.error) };
}

function memory(user: string): string {
  return `gpuaas.project.${user}`;
}
