import { notifications } from "@mantine/notifications";

/** A short word that something was accepted. Failures stay where they happened, see ProblemPanel. */
export function notify(message: string): void {
  notifications.show({ message, autoClose: 4000 });
}
