import { Drawer } from "@mantine/core";
import type { ReactNode } from "react";

interface Props {
  title: string;
  size: "md" | "lg" | "xl";
  onClose: () => void;
  children: ReactNode;
}

/** More of one row, beside its table. */
export function SideDrawer({ title, size, onClose, children }: Props) {
  return (
    <Drawer
      opened
      onClose={onClose}
      title={title}
      position="right"
      size={size}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      {children}
    </Drawer>
  );
}
