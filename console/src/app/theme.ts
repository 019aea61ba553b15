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

// Mantine's greys of the dark scheme, in the tint of our surfaces: text, dimmed, lines, inputs, page.
const slate: MantineColorsTuple = [
  "#e6e9ef",
  "#c3cad5",
  "#9aa4b2",
  "#6d7786",
  "#3a414d",
  "#2c313a",
  "#20242c",
  "#191c22",
  "#14161b",
  "#111318",
];

export const theme = createTheme({
  primaryColor: "iris",
  primaryShade: { light: 6, dark: 5 },
  colors: { iris, dark: slate },
  fontFamily:
    'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace:
    'ui-monospace, "SF Mono", SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  defaultRadius: "md",
  cursorType: "pointer",
  respectReducedMotion: true,
  autoContrast: true,
  headings: { fontWeight: "650" },
  // The head of a dialog is a <header>; outside of <main> it would be a second banner of the page.
  components: {
    Modal: { defaultProps: { attributes: { header: { role: "presentation" } } } },
    Drawer: { defaultProps: { attributes: { header: { role: "presentation" } } } },
  },
});
