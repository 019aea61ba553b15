import { ActionIcon, Tooltip } from "@mantine/core";
import { useState } from "react";
import { copyText } from "./clipboard";
import { Icon } from "./Icon";

/** Copies a text, and says so, also to those who do not see the tick. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  const name = copied ? "Copied" : label;
  return (
    <Tooltip label={name} withArrow openDelay={300}>
      <ActionIcon variant="subtle" color="gray" size="sm" aria-label={name} onClick={() => void copy()}>
        <Icon name={copied ? "check" : "copy"} size={14} />
      </ActionIcon>
    </Tooltip>
  );
}
