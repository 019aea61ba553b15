import { useProject } from "../app/project";
import { PageHead } from "../parts/PageHead";
import { Attention } from "./Attention";
import { Figures } from "./Figures";
import { Running } from "./Running";
import { UnderWay } from "./UnderWay";

export function HomePage() {
  const project = useProject();
  return (
    <>
      <PageHead title={project.name} lead="What needs attention, what runs, and what it costs." />
      <div className="stack">
        <Figures project={project.id} />
        <Attention project={project.id} />
        <UnderWay project={project.id} />
        <Running project={project.id} />
      </div>
    </>
  );
}
