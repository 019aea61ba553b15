import { useElementSize } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, memo, useCallback, useMemo, useRef, useState } from "react";
import type { NodeSlots } from "../api/types";
import { labelOf } from "../parts/states";
import classes from "./FleetMap.module.css";
import { type HeatMap, heatMapOf, sentenceOf, stepFrom, type Tile } from "./heatLayout";

const NAME_LETTERS = 20;

/** Every GPU of the fleet as a square. One node is reached by tab, the others from it by the arrow keys. */
export function FleetMap({ nodes }: { nodes: NodeSlots[] }) {
  const { ref, width } = useElementSize();
  const navigate = useNavigate();
  const [at, setAt] = useState(0);
  const [said, setSaid] = useState("");
  const svg = useRef<SVGSVGElement>(null);
  const map = useMemo(() => heatMapOf(nodes, width || 320), [nodes, width]);
  const open = useCallback(
    (id: string) => void navigate({ to: `/ops/nodes/${id}`, search: (before: object) => before } as never),
    [navigate],
  );
  const move = (event: KeyboardEvent<SVGSVGElement>) => {
    const next = stepFrom(at, event.key, map.perLine, nodes.length);
    const node = nodes[at];
    if (event.key === "Enter" && node) open(node.id);
    if (next === null) return;
    event.preventDefault();
    setAt(next);
    svg.current?.querySelector<SVGElement>(`[data-tile="${next}"]`)?.focus();
  };
  return (
    <figure className={classes.box} ref={ref} style={{ margin: 0 }}>
      <svg
        ref={svg}
        className={classes.map}
        width={map.width + 4}
        height={map.height + 4}
        viewBox={`-2 -2 ${map.width + 4} ${map.height + 4}`}
        role="group"
        aria-label={`${nodes.length} nodes; use the arrow keys to move between them`}
        onKeyDown={move}
      >
        <Shapes map={map} />
        {map.tiles.map((tile, index) => (
          <TileLink
            key={tile.node.id}
            tile={tile}
            index={index}
            head={map.head}
            current={index === Math.min(at, nodes.length - 1)}
            onSay={setSaid}
            onFocus={setAt}
            onOpen={open}
          />
        ))}
      </svg>
      <figcaption className={classes.said}>
        {said || "Point at a node, or select it with Tab and the arrow keys."}
      </figcaption>
    </figure>
  );
}

const Shapes = memo(function Shapes({ map }: { map: HeatMap }) {
  return map.shapes.map((shape) => (
    <path key={shape.status} d={shape.path} className={classes.shape} data-status={shape.status} />
  ));
});

interface TileProps {
  tile: Tile;
  index: number;
  head: number;
  /** The one that tab leads to. */
  current: boolean;
  onSay: (words: string) => void;
  onFocus: (index: number) => void;
  onOpen: (id: string) => void;
}

/** Drawn anew only when it is itself that changed: an arrow key must not draw a thousand others. */
const TileLink = memo(function TileLink({ tile, index, head, current, onSay, onFocus, onOpen }: TileProps) {
  const { node } = tile;
  const name = node.name.length > NAME_LETTERS ? `${node.name.slice(0, NAME_LETTERS)}…` : node.name;
  return (
    <g
      role="link"
      className={classes.node}
      tabIndex={current ? 0 : -1}
      data-tile={index}
      data-off={node.cordoned || node.status === "lost"}
      aria-label={sentenceOf(node)}
      onMouseEnter={() => onSay(sentenceOf(node))}
      onFocus={() => {
        onFocus(index);
        onSay(sentenceOf(node));
      }}
      onClick={() => onOpen(node.id)}
    >
      {head > 0 && (
        <text x={tile.x} y={tile.y + 11} className={classes.name}>
          {name}
        </text>
      )}
      <rect
        x={tile.x - 1}
        y={tile.y + head - 1}
        width={tile.width + 2}
        height={tile.height - head + 2}
        rx={2}
        className={classes.tile}
      />
    </g>
  );
});

export function Legend({ nodes }: { nodes: NodeSlots[] }) {
  const { shapes } = useMemo(() => heatMapOf(nodes, 1000), [nodes]);
  return (
    <ul className={classes.legend} aria-label="GPUs by status">
      {shapes.map((shape) => (
        <li key={shape.status}>
          <svg width="12" height="12" className={classes.swatch} aria-hidden="true">
            <rect width="12" height="12" rx="2" className={classes.shape} data-status={shape.status} />
          </svg>
          {labelOf(shape.status)} <strong>{shape.count}</strong>
        </li>
      ))}
    </ul>
  );
}
