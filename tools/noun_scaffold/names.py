"""The names of a new noun in all their spellings, and the checks that nobody has them yet."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noun_scaffold.tree import Tree

DEFAULT_ABOUT = "a named thing of a project"
STATES = ("requested", "active", "ended")  # those of the template


class Refused(Exception):
    """The noun cannot be written; the text says why."""


@dataclass(frozen=True)
class Names:
    one: str  # host_pool
    many: str  # host_pools
    about: str
    prefix: str
    states: tuple[str, ...]
    revision: str
    newest_revision: str
    words: str  # for people: host pool, SSH banner

    @classmethod
    def of(
        cls,
        one: str,
        many: str | None,
        about: str,
        prefix: str | None,
        states: tuple[str, ...],
        tree: "Tree",
        words: str | None = None,
    ) -> "Names":
        many = many or regular_plural(one)
        _refuse_taken(one, many, tree)
        newest = newest_revision(tree)
        revision = f"{max(int(number) for number in revisions(tree)) + 1:04}"
        return cls(
            one,
            many,
            lower_first(about or DEFAULT_ABOUT),
            choose_prefix(one, prefix, tree),
            states,
            revision,
            newest,
            words or one.replace("_", " "),
        )

    @property
    def type(self) -> str:
        return "".join(word.capitalize() for word in self.one.split("_"))

    @property
    def a_thing(self) -> str:
        # An acronym is read letter by letter: an SSH banner.
        vowels = "AEFHILMNORSX" if is_acronym(self.words.split()[0]) else "aeiouAEIOU"
        return f"{'an' if self.words[0] in vowels else 'a'} {self.words}"

    @property
    def many_words(self) -> str:
        if self.words == self.one.replace("_", " "):
            return self.many.replace("_", " ")
        return regular_plural(self.words)

    def spell(self, text: str) -> str:
        """Replace the template's noun by this one, in whichever spelling it occurs."""
        spellings = {
            "Sample items": upper_first(self.many_words),
            "sample items": self.many_words,
            "A sample item": upper_first(self.a_thing),
            "a sample item": self.a_thing,
            "Sample item": upper_first(self.words),
            "sample item": self.words,
            "sample_items": self.many,
            "sample_item": self.one,
            "sample-items": self.many.replace("_", "-"),
            "SampleItem": self.type,
            "SAMPLE_ITEM": self.one.upper(),
            "smp": self.prefix,
            DEFAULT_ABOUT: self.about,
            '"newest"': f'"{self.newest_revision}"',
            "0000": self.revision,
        }
        if self.states:
            spellings |= {quoted(STATES, mark): quoted(self.states, mark) for mark in "'\""}
        pattern = "|".join(re.escape(spelling) for spelling in sorted(spellings, key=len, reverse=True))
        return re.sub(pattern, lambda found: spellings[found[0]], text)


def upper_first(text: str) -> str:
    return text[0].upper() + text[1:]


def lower_first(text: str) -> str:
    """Begin in the middle of a sentence, unless the first word has capitals of its own."""
    return text if is_acronym(text.split(maxsplit=1)[0]) else text[0].lower() + text[1:]


def is_acronym(word: str) -> bool:
    return any(letter.isupper() for letter in word[1:])


def quoted(states: tuple[str, ...], mark: str) -> str:
    return ", ".join(f"{mark}{state}{mark}" for state in states)


def regular_plural(noun: str) -> str:
    """The plural by the rule of server/gpuaas_server/calls.py."""
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else f"{noun}s"


def revisions(tree: "Tree") -> dict[str, str]:
    """Each revision with the one that it is built on."""
    found = {}
    for path in tree.glob("server/gpuaas_server/migrations/versions/[0-9]*.py"):
        text = tree.read(path)
        [revision] = re.findall(r'^revision = "(\w+)"', text, re.MULTILINE)
        found[revision] = next(iter(re.findall(r'^down_revision = "(\w+)"', text, re.MULTILINE)), "")
    return found


def newest_revision(tree: "Tree") -> str:
    built_on = revisions(tree)
    [newest] = built_on.keys() - set(built_on.values())
    return newest


def choose_prefix(one: str, wanted: str | None, tree: "Tree") -> str:
    """The prefix of ids: the one that is wanted, or the first free one from the letters of the name."""
    sources = "".join(tree.read(path) for path in tree.glob("server/gpuaas_server/**/*.py"))
    taken = set(re.findall(r'(?:_pattern|id_column|new_id)\("([a-z]+)"', sources))
    if wanted is not None:
        if not re.fullmatch("[a-z]{3}", wanted) or wanted in taken:
            raise Refused(f"The prefix {wanted!r} is not three small letters, or other ids begin with it.")
        return wanted
    letters = one.replace("_", "")
    consonants = re.sub(r"(.)\1", r"\1", letters[0] + re.sub("[aeiou0-9]", "", letters[1:]))
    for text in (consonants, letters):
        for second in range(1, len(text)):
            for third in range(second + 1, len(text)):
                prefix = text[0] + text[second] + text[third]
                if prefix not in taken and prefix.isalpha():
                    return prefix
    raise Refused(f"No three letters of {one} are free for its ids; choose some with --prefix.")


def _refuse_taken(one: str, many: str, tree: "Tree") -> None:
    tables = "".join(tree.read(path) for path in tree.glob("server/gpuaas_server/*/tables.py"))
    # Not the folder itself: what Python compiled may be left of a noun of another branch.
    if tree.glob(f"server/gpuaas_server/{many}/*.py") or re.search(f'"{many}",\n    metadata', tables):
        raise Refused(f"There is a folder or a table {many} already.")
    if f'"{one}_create":' in tree.read("server/gpuaas_server/identity/policy.py"):
        raise Refused(f"There is an endpoint {one}_create already.")
    if tree.exists(f"cli/gpuaas_cli/commands/{many}.py"):
        raise Refused(f"The CLI has commands with the name {many.replace('_', '-')} already.")
