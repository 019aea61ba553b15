import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "./tokens.css";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { nonce } from "./nonce";

// Dialogs lock the page behind them with a style element, which the Content-Security-Policy lets in by its nonce.
setNonce(nonce());

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
