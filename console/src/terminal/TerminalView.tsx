// One terminal from its request to its end. Loaded only when somebody opens one: xterm is large.
import { Button } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { api, body } from "../api/client";
import type { Allocation } from "../api/types";
import { explained, ProblemPanel } from "../parts/ProblemPanel";
import { openScreen } from "./screen";
import { type Ended, TerminalStream } from "./stream";
import classes from "./TerminalPanel.module.css";

type Stage =
  | { at: "asking" }
  | { at: "waiting" }
  | { at: "open" }
  | { at: "ended"; ended: Ended }
  | { at: "refused"; error: unknown };

export default function TerminalView({
  allocation,
  onClose,
}: {
  allocation: Allocation;
  onClose: () => void;
}) {
  const [stage, setStage] = useState<Stage>({ at: "asking" });
  const [round, setRound] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const out = useRef<HTMLButtonElement>(null);
  const path = { project_id: allocation.project_id, allocation_id: allocation.id };

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round is a new terminal
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const screen = openScreen(element, () => out.current?.focus());
    const { terminal } = screen;
    let stream: TerminalStream | undefined;
    let opened: string | undefined;
    let gone = false;
    setStage({ at: "asking" });
    const begin = async () => {
      const asked = await body(
        api.POST("/api/v1/projects/{project_id}/allocations/{allocation_id}/terminals", {
          params: { path },
          body: { columns: terminal.cols, rows: terminal.rows },
        }),
      );
      opened = asked.id;
      if (gone) return closeTerminal(path, asked.id);
      setStage({ at: "waiting" });
      stream = new TerminalStream(asked, {
        onOpened: () => {
          setStage({ at: "open" });
          stream?.resize(terminal.cols, terminal.rows);
          terminal.focus();
        },
        onBytes: (bytes) => terminal.write(bytes),
        onEnded: (ended) => setStage({ at: "ended", ended }),
      });
    };
    begin().catch((error: unknown) => setStage({ at: "refused", error }));
    terminal.onData((text) => stream?.type(text));
    terminal.onBinary((bytes) => stream?.sendBinary(bytes));
    terminal.onResize(({ cols, rows }) => stream?.resize(cols, rows));
    return () => {
      gone = true;
      stream?.close();
      if (opened) void closeTerminal(path, opened);
      screen.dispose();
    };
  }, [round]);

  return (
    <div className={classes.view} data-terminal={stage.at}>
      <div className={classes.screen} ref={box} />
      <div className={classes.foot}>
        <span role="status" className={classes.said}>
          {wordsOf(stage)}
        </span>
        {(stage.at === "ended" || stage.at === "refused") && (
          <Button size="compact-xs" variant="default" onClick={() => setRound(round + 1)}>
            New terminal
          </Button>
        )}
        <Button size="compact-xs" variant="default" ref={out} onClick={onClose}>
          Close
        </Button>
      </div>
      {stage.at === "refused" && <ProblemPanel problem={explained(stage.error)} />}
    </div>
  );
}

async function closeTerminal(
  path: { project_id: string; allocation_id: string },
  terminal_id: string,
): Promise<void> {
  await api
    .POST("/api/v1/projects/{project_id}/allocations/{allocation_id}/terminals/{terminal_id}/close", {
      params: { path: { ...path, terminal_id } },
    })
    .catch(() => undefined); // it has ended by itself
}

function wordsOf(stage: Stage): string {
  switch (stage.at) {
    case "asking":
    case "waiting":
      return "Waiting for the host…";
    case "open":
      return "Ctrl-Shift-C copies, Ctrl-Shift-V pastes, Ctrl-Shift-E leaves the terminal.";
    case "ended":
      return stage.ended.exit_status === null
        ? stage.ended.message
        : `${stage.ended.message} Exit status ${stage.ended.exit_status}.`;
    default:
      return "No terminal.";
  }
}
