import { Button } from "@mantine/core";

/** Downloads everything that the platform holds on a tenant or project, as JSON lines. */
export function ExportLink({ href, slug }: { href: string; slug: string }) {
  return (
    <Button component="a" href={href} download={`${slug}.ndjson`} size="xs" variant="default">
      Export
    </Button>
  );
}
