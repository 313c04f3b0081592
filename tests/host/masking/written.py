"""The lists of tests/corpora: forms in which people and tools write secrets and names, and what must stay.

A line ``%% NAME`` begins a section, ``%%`` alone ends a form of several lines, and ``{}`` is what a form hides.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parents[2] / "corpora"

CHOSEN = "Marzip4n" + "Lux9"  # as people choose them
LETTERS = "velvet" + "orbit"  # no sign tells that it is no word
RANDOM = "q8ZrT5nYc2WvB7k" + "Xe4JmH9dLs3Gp"
USER = "tkow" + "alsk"
HOST = "lynx-" + "cn042"
DOMAIN = "uniwersy" + "tet"


def sections(name: str) -> dict[str, list[str]]:
    """The forms of a list by section; those of several lines as they stand."""
    found: dict[str, list[str]] = {}
    for part in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").removeprefix("%% ").split("\n%% "):
        title, _, body = part.partition("\n")
        body = body.removesuffix("\n")
        found[title] = body.split("\n%%\n") if "\n%%\n" in body else body.split("\n")
    return found


def secrets() -> dict[str, list[tuple[str, str]]]:
    """(text, what it hides) by list: forms that tell enough for any value, and those for long random values alone."""
    single, blocks = sections("secrets"), sections("secret_blocks")
    return {
        "chosen": [(form.replace("{}", CHOSEN), CHOSEN) for form in single["chosen"]],
        "letters": [(form.replace("{}", LETTERS), LETTERS) for form in single["chosen"]],
        "random": [(form.replace("{}", RANDOM), RANDOM) for form in single["random"]],
        "chosen blocks": [(form.replace("{}", CHOSEN), CHOSEN) for form in blocks["chosen"]],
        "letters blocks": [(form.replace("{}", LETTERS), LETTERS) for form in blocks["chosen"]],
        "random blocks": [(form.replace("{}", RANDOM), RANDOM) for form in blocks["random"]],
    }


def identities() -> dict[str, list[tuple[str, str]]]:
    """(text, what it hides) by list: users, short host names, the domain of full ones, and others."""
    forms = sections("identities")
    told = [form.replace("\\n", "\n").split(" <= ", 1) for form in forms["told"]]
    return {
        "user": [(form.replace("{}", USER), USER) for form in forms["user"]],
        "host": [(form.replace("{}", HOST), HOST) for form in forms["host"]],
        "domain": [(form.replace("{}", f"{HOST}.hpc.{DOMAIN}.edu"), DOMAIN) for form in forms["host"]],
        "told": [(text, hidden) for hidden, text in told],
    }


def left(name: str) -> list[str]:
    """What of a list is known to stay, or of the controls to go; as the text is with ``{}`` for what it hides."""
    return [one for one in sections("left").get(name, []) if one]
