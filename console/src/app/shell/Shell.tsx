import { Drawer } from "@mantine/core";
import { useDisclosure, useHotkeys } from "@mantine/hooks";
import { Outlet, useLocation } from "@tanstack/react-router";
import { lazy, Suspense, useEffect } from "react";
import { LiveProvider } from "../../live/LiveProvider";
import { Icon } from "../../parts/Icon";
import { Empty, Failed, Loading } from "../../parts/Loaded";
import { ProjectProvider, useProjectInView } from "../project";
import { Announcer } from "./Announcer";
import { LiveBar } from "./LiveBar";
import classes from "./Shell.module.css";
import { Sidebar } from "./Sidebar";

const Search = lazy(() => import("./Search"));

/** The frame around every page: navigation, the project in view, the live connection. */
export function Shell() {
  const { project, projects, pending, error } = useProjectInView();
  const path = useLocation({ select: (location) => location.pathname });
  const [menu, drawer] = useDisclosure(false);
  const [searching, search] = useDisclosure(false);
  useHotkeys([["mod+K", search.open]], []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page is the reason to close it
  useEffect(() => drawer.close(), [path]);

  const operating = path.startsWith("/ops");
  const scope = operating ? "platform" : project?.id;
  const sidebar = <Sidebar project={project} projects={projects} onSearch={search.open} />;
  return (
    <ProjectProvider project={project}>
      <LiveProvider scope={scope} key={scope}>
        <a href="#main" className={classes.skip}>
          Skip to content
        </a>
        <div className={classes.frame}>
          <header className={classes.top}>
            <button
              type="button"
              className={classes.burger}
              aria-label="Open navigation"
              onClick={drawer.open}
            >
              <Icon name="menu" size={20} />
            </button>
            <span className={classes.brand}>GPUaaS</span>
            <button type="button" className={classes.burger} aria-label="Search" onClick={search.open}>
              <Icon name="search" size={18} />
            </button>
          </header>
          <aside className={classes.side} aria-label="Navigation and project">
            {sidebar}
          </aside>
          <Drawer.Root opened={menu} onClose={drawer.close} size="17rem" padding={0}>
            <Drawer.Overlay />
            <Drawer.Content aria-label="Navigation">
              <Drawer.Body>{sidebar}</Drawer.Body>
            </Drawer.Content>
          </Drawer.Root>
          <main id="main" className={classes.main} tabIndex={-1}>
            <LiveBar />
            <div className={classes.page} key={operating ? "platform" : project?.id}>
              {pending ? (
                <Loading />
              ) : error && !operating ? (
                <Failed error={error} />
              ) : project || operating ? (
                <Outlet />
              ) : (
                <Empty
                  icon="box"
                  title="You are not in a project yet"
                  text="Ask an administrator of your tenant to add you to one."
                />
              )}
            </div>
          </main>
        </div>
        <Announcer />
        {searching && (
          <Suspense>
            <Search onClose={search.close} />
          </Suspense>
        )}
      </LiveProvider>
    </ProjectProvider>
  );
}
