import { useDocumentTitle } from "@mantine/hooks";
import { type ReactNode, useEffect, useRef } from "react";
import { wasNavigated } from "./navigated";
import classes from "./PageHead.module.css";

interface Props {
  /** Of the document and of the page. */
  title: string;
  /** Beside the title: badges. */
  badges?: ReactNode;
  /** Below it: one line about what this is. */
  lead?: ReactNode;
  /** On the other side: actions. */
  actions?: ReactNode;
  above?: ReactNode;
}

export function PageHead({ title, badges, lead, actions, above }: Props) {
  useDocumentTitle(`${title} · GPUaaS`);
  const heading = useRef<HTMLHeadingElement>(null);
  // Moves the focus to the title, for users who cannot see that the page changed.
  useEffect(() => {
    if (wasNavigated()) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <header className={classes.head}>
      <div className={classes.words}>
        {above && <div className={classes.above}>{above}</div>}
        <div className={classes.line}>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {badges}
        </div>
        {lead && <p className={classes.lead}>{lead}</p>}
      </div>
      {actions && <div className={classes.actions}>{actions}</div>}
    </header>
  );
}
