import { Link } from "@tanstack/react-router";
import { isOperator } from "../../api/rights";
import type { Project } from "../../api/types";
import { Icon } from "../../parts/Icon";
import { useSession } from "../session";
import { OPERATOR_PLACES, type Place, PROJECT_PLACES } from "./navigation";
import { ProjectSwitcher } from "./ProjectSwitcher";
import classes from "./Sidebar.module.css";
import { UserMenu } from "./UserMenu";

export function Sidebar(props: { project: Project | null; projects: Project[]; onSearch: () => void }) {
  const { user } = useSession();
  return (
    <div className={classes.bar}>
      <div className={classes.brand}>
        <img src="/favicon.svg" alt="" width={24} height={24} />
        GPUaaS
      </div>
      <ProjectSwitcher project={props.project} projects={props.projects} />
      <button type="button" className={classes.search} onClick={props.onSearch}>
        <Icon name="search" size={15} />
        <span>Search</span>
        <kbd>Ctrl K</kbd>
      </button>
      <nav className={classes.nav} aria-label="Main">
        <Places places={PROJECT_PLACES} />
        {isOperator(user) && OPERATOR_PLACES.length > 0 && (
          <>
            <p className={classes.heading}>Platform</p>
            <Places places={OPERATOR_PLACES} />
          </>
        )}
      </nav>
      <UserMenu />
    </div>
  );
}

function Places({ places }: { places: Place[] }) {
  return (
    <ul className={classes.places}>
      {places.map((place) => (
        <li key={place.to}>
          <Link
            to={place.to}
            className={classes.place}
            activeOptions={{ exact: place.to === "/", includeSearch: false }}
          >
            <Icon name={place.icon} size={17} />
            {place.label}
          </Link>
        </li>
      ))}
    </ul>
  );
}
