// xterm in an element: fits itself to it, copies and pastes, and lets the keyboard out again.
import "@xterm/xterm/css/xterm.css";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import { copyText } from "../parts/clipboard";
import { allowStyles } from "./allowStyles";

export interface Screen {
  terminal: Terminal;
  refit: () => void;
  dispose: () => void;
}

export function openScreen(element: HTMLElement, leave: () => void): Screen {
  const endStyles = allowStyles(document);
  const terminal = new Terminal({
    cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches,
    fontFamily: getComputedStyle(document.documentElement).getPropertyValue(
      "--mantine-font-family-monospace",
    ),
    fontSize: 13,
    lineHeight: 1.2,
    scrollback: 5000,
    theme: {
      background: "#14161b",
      foreground: "#e6e9ef",
      cursor: "#a9a8f6",
      selectionBackground: "#45457a",
    },
  });
  const fitting = new FitAddon();
  terminal.loadAddon(fitting);
  terminal.open(element);
  terminal.attachCustomKeyEventHandler((event) => ordinary(event, terminal, leave));
  const refit = () => {
    // A panel that is not seen has no size to fit to.
    if (element.clientWidth > 0) fitting.fit();
  };
  refit();
  const watching = new ResizeObserver(refit);
  watching.observe(element);
  return {
    terminal,
    refit,
    dispose: () => {
      watching.disconnect();
      terminal.dispose();
      endStyles();
    },
  };
}

/** False for keys that are ours: Ctrl-Shift-C copies, Ctrl-Shift-V is the browser's paste, Ctrl-Shift-E leaves. */
function ordinary(event: KeyboardEvent, terminal: Terminal, leave: () => void): boolean {
  if (!event.ctrlKey || !event.shiftKey) return true;
  if (event.code === "KeyV") return false;
  if (event.code !== "KeyC" && event.code !== "KeyE") return true;
  event.preventDefault();
  if (event.type === "keydown") {
    if (event.code === "KeyE") leave();
    else if (terminal.hasSelection()) void copyText(terminal.getSelection());
  }
  return false;
}
