// A few strokes on a grid of 24, in the colour of the text around them.
const PATHS = {
  alert: "M12 4 2.8 20h18.4L12 4Zm0 6v4.5m0 2.8v.2",
  apps: "M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h6v6h-6z",
  arrow: "M5 12h14m-5-5 5 5-5 5",
  audit: "M6 3h9l4 4v14H6zM14 3v5h5M9 12h7M9 16h7",
  box: "M12 3 4 7v10l8 4 8-4V7l-8-4Zm0 8 8-4m-8 4L4 7m8 4v10",
  check: "m5 12.5 4.5 4.5L19 7",
  chevron: "m9 6 6 6-6 6",
  close: "M6 6l12 12M18 6 6 18",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  cpu: "M7 7h10v10H7zM10 3v4m4-4v4m-4 10v4m4-4v4M3 10h4m-4 4h4m10-4h4m-4 4h4",
  down: "m6 9 6 6 6-6",
  home: "M4 11 12 4l8 7v9h-5v-6H9v6H4z",
  key: "M14.5 9.5a4 4 0 1 1-3.9-4.9 4 4 0 0 1 3.9 4.9Zm-1.2 2.6L21 20m-3-3 2-2",
  link: "M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.700-5.700l-1.300 1.300M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.700 5.700l1.300-1.300",
  logout: "M14 4H5v16h9M10 12h11m-4-4 4 4-4 4",
  menu: "M4 7h16M4 12h16M4 17h16",
  moon: "M20 14.500A8 8 0 0 1 9.500 4 8 8 0 1 0 20 14.500Z",
  nodes: "M4 5h16v5H4zM4 14h16v5H4zM7.500 7.500v.01M7.500 16.500v.01",
  play: "M7 5v14l12-7z",
  plus: "M12 5v14M5 12h14",
  refresh: "M20 11a8 8 0 1 0-2.300 6.300M20 5v6h-6",
  search: "M10.500 17a6.500 6.500 0 1 1 0-13 6.500 6.500 0 0 1 0 13Zm5-1.500L21 21",
  sun: "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8Zm0-5v2m0 14v2M3 12h2m14 0h2M5.600 5.600 7 7m10 10 1.400 1.400M5.600 18.400 7 17M17 7l1.400-1.400",
  terminal: "M4 5h16v14H4zM7 9l3 3-3 3m5.500 0H17",
  users:
    "M9 11a3.500 3.500 0 1 1 0-7 3.500 3.500 0 0 1 0 7Zm-6 9a6 6 0 0 1 12 0m0-9.500a3 3 0 1 0-1-5.700M17 14.500a5 5 0 0 1 4 5.500",
  tenants: "M5 21V4h9v17M14 9h5v12M3 21h18M8 8h3m-3 4h3m-3 4h3",
  up: "m6 15 6-6 6 6",
} as const;

export type IconName = keyof typeof PATHS;

/** Decoration: the text beside it, or the button's label, says the same. */
export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.7"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
