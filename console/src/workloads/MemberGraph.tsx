import type { InstanceMember } from "../api/types";
import type { Component } from "../catalog/manifest";
import { labelOf, toneOf } from "../parts/states";
import classes from "./MemberGraph.module.css";
import { BOX, layoutOf, type Placed } from "./memberLayout";
import { memberName } from "./members";

/** Components side by side, their members below each other, and who depends on whom: the same picture for every app. */
export function MemberGraph({ components, members }: { components: Component[]; members: InstanceMember[] }) {
  const layout = layoutOf(components, members);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable with the keyboard
    <div className={classes.box} tabIndex={0} role="region" aria-label="Member graph">
      <svg
        width={layout.width}
        height={layout.height}
        viewBox={`0 0 ${layout.width} ${layout.height}`}
        role="img"
        aria-label={inWords(members)}
      >
        {layout.edges.map(({ from, to }) => (
          <path key={`${from.id} ${to.id}`} className={classes.edge} d={curve(from, to)} />
        ))}
        {layout.columns.map((column) => (
          <g key={column.key}>
            <text x={column.x} y={20} className={classes.column}>
              {column.label}
            </text>
            {column.members.map((placed) => (
              <Box key={placed.id} placed={placed} />
            ))}
            {column.hidden > 0 && (
              <text
                x={column.x}
                y={BOX.top + column.members.length * (BOX.height + BOX.gapY) + 20}
                className={classes.more}
              >
                and {column.hidden} more
              </text>
            )}
          </g>
        ))}
      </svg>
    </div>
  );
}

function Box({ placed: { x, y, member } }: { placed: Placed }) {
  return (
    <g data-tone={toneOf(member.status)} className={classes.member}>
      <rect x={x} y={y} width={BOX.width} height={BOX.height} rx={8} />
      <circle cx={x + 16} cy={y + BOX.height / 2} r={4.5} />
      <text x={x + 30} y={y + 17} className={classes.name}>
        {memberName(member)}
      </text>
      <text x={x + 30} y={y + 32} className={classes.status}>
        {labelOf(member.status)}
      </text>
    </g>
  );
}

function curve(from: Placed, to: Placed): string {
  const [x1, y1] = [from.x + BOX.width, from.y + BOX.height / 2];
  const [x2, y2] = [to.x, to.y + BOX.height / 2];
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1} C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}

function inWords(members: InstanceMember[]): string {
  if (members.length === 0) return "No members";
  const counts = new Map<string, number>();
  for (const one of members) {
    const what = `${one.component_key} ${labelOf(one.status).toLowerCase()}`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  return [...counts].map(([what, count]) => `${count} ${what}`).join(", ");
}
