import { useEffect, useState } from "react";
import { useLive } from "../../live/LiveProvider";
import classes from "./LiveBar.module.css";

/** Reports a lost connection only when it lasts. */
const GRACE_MS = 1000;

export function LiveBar() {
  const { state } = useLive();
  const [lost, setLost] = useState(false);
  useEffect(() => {
    if (state === "live") return setLost(false);
    if (state !== "lost") return;
    const timer = setTimeout(() => setLost(true), GRACE_MS);
    return () => clearTimeout(timer);
  }, [state]);
  return (
    <div role="status" data-live={state}>
      {lost && (
        <p className={classes.bar}>Connection lost, retrying. What you see may be old; nothing is missed.</p>
      )}
    </div>
  );
}
