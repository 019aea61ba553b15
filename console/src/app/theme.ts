import { createTheme, type MantineColorsTuple } from "@mantine/core";

// The one accent. States have colours of their own, in tokens.css.
const iris: MantineColorsTuple = [
  "#f0f0ff",
  "#dfdffb",
  "#bdbcf2",
  "#9997ea",
  "#7a77e3",
  "#6663de",
  "#5a57d6",
  "#4b48c0",
  "#413fac",
  "#363498",
];

export const theme = createTheme({
  primaryColor: "iris",
  primaryShade: { light: 6, dark: 5 },
  colors: { iris },
  fontFamily:
    'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace:
    'ui-monospace, "SF Mono", SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  defaultRadius: "md",
  cursorType: "pointer",
  respectReducedMotion: true,
  autoContrast: true,
  headings: { fontWeight: "650" },
});
