"""axe-core in the page, as its own tools run it: what it finds is a list of sentences, and should be empty."""

from playwright.sync_api import Page

from system_support.documents import REPOSITORY

SOURCE = REPOSITORY / "console/node_modules/axe-core/axe.min.js"
_RUN = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations.flatMap((one) => one.nodes.map((node) =>
    `${one.id} (${one.impact}): ${one.help}: ${node.target.join(" ")} ${node.html.slice(0, 160)}`));
}"""


def violations(page: Page) -> list[str]:
    """What `evaluate` runs is the tester's, and not the page's: its policy about scripts does not concern it."""
    page.evaluate(SOURCE.read_text())
    found: list[str] = page.evaluate(_RUN)
    return found
