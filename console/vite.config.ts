import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// Where `npm run dev` finds a platform that runs.
const platform = process.env.GPUAAS_URL ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react()],
  build: {
    target: "es2022",
    // Browsers that know light-dark() themselves: rewritten for older ones, every colour of ours would be lost.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    // Inlined data: URLs would need a wider Content-Security-Policy.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 700,
    manifest: true,
    rolldownOptions: {
      output: {
        // What most pages share comes in few files: a browser asks an http server for six at a time.
        codeSplitting: {
          groups: [
            {
              name: "frame",
              test: /node_modules\/(react|react-dom|scheduler|@tanstack\/(react-router|router-core|history|react-query|query-core|react-store|store)|openapi-fetch)\//,
            },
            {
              name: "inputs",
              test: /node_modules\/(@mantine|@floating-ui|react-remove-scroll)/,
              minShareCount: 18,
            },
            { name: "parts", test: /src\/(api|parts|live|actions|forms)\//, minShareCount: 18 },
          ],
        },
      },
    },
  },
  server: {
    proxy: { "/api": { target: platform, ws: true } },
  },
  test: {
    environment: "happy-dom",
    include: ["src/**/*.test.{ts,tsx}"],
  },
});
