import { useProject } from "../app/project";
import { PageHead } from "../parts/PageHead";
import { useInstances } from "../workloads/queries";
import { Attention } from "./Attention";

export function HomePage() {
  const project = useProject();
  const instances = useInstances(project.id);
  return (
    <>
      <PageHead title={project.name} lead="What needs attention, what runs, and what it costs." />
      <div className="stack">
        <Attention instances={instances} />
      </div>
    </>
  );
}
