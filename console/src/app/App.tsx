import { localStorageColorSchemeManager, MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { nonce } from "./nonce";
import { queries } from "./queries";
import { router } from "./router";
import { theme } from "./theme";

const scheme = localStorageColorSchemeManager({ key: "gpuaas.color-scheme" });

export function App() {
  return (
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      colorSchemeManager={scheme}
      getStyleNonce={nonce}
    >
      <QueryClientProvider client={queries}>
        <Notifications position="bottom-right" containerWidth={360} />
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  );
}
