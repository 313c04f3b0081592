"""What all screens say alike: what is wrong, and what to do first. Pure.

Screens that say it in words of their own contradict each other sooner or later; these are the words for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rocdoctor.judging.subjects import grouped, is_whole, sentence, subject_parts
from rocdoctor.model.finding import Diagnosis
from rocdoctor.model.printable import one_line
from rocdoctor.model.shell_command import as_named
from rocdoctor.repair.setup.plan import SetupPlan
from rocdoctor.repair.setup.words import headline as setup_headline
from rocdoctor.report.diagnosis.headline import headline

Title = Literal["so far", "do first", "do next", "in short"]


@dataclass(frozen=True, slots=True)
class Story:
    """What a person reads first.

    ``wrong``: what is wrong, in a sentence ("" where nothing is); ``todo``: what to do, with its ``command``;
    ``because``: the finding that it is said for; ``area``: the screen that tells more.
    """

    title: Title
    wrong: str
    todo: str
    command: str = ""
    because: str = ""
    area: str = "findings"

    @property
    def typed(self) -> str:
        """The command as it is shown: a kernel parameter is none, and is called what it is."""
        return as_named(self.command)

    @property
    def heading(self) -> str:
        """What stands above it; "do first" stands before what to do, since what is wrong comes before that."""
        return "what is wrong" if self.title == "do first" and self.wrong else self.title

    @property
    def lines(self) -> tuple[str, ...]:
        """All of it, without styles."""
        return tuple(one for one in (self.wrong, self.todo, self.typed) if one)


def story(diagnosis: Diagnosis, setup: SetupPlan | None, preliminary: bool) -> Story:
    """The one story of a machine; ``preliminary``: questions are open, so nothing is a verdict yet."""
    said = headline(diagnosis)
    if said.to_do:
        wrong = _main_message(diagnosis) if said.because else ""
        todo = f"So far, this comes first: {said.said}" if preliminary else said.said
        return Story("so far" if preliminary else "do first", wrong, todo, said.command, said.because)
    if preliminary:
        return Story("so far", "", "Nothing wrong was found so far; not everything has answered yet.")
    step = next_step(setup)
    if step:
        gap = diagnosis.machine.gpus_gap is not None
        why = said.said if gap else "No check found a fault, but the setup is not complete."
        return Story("do next", why, step, area="setup")
    return Story("in short", "", said.said)


def next_step(setup: SetupPlan | None) -> str:
    """The step that set-up asks a person to do; "" where there is none, or where nothing tells how it stands."""
    if setup is None:
        return ""
    said = setup_headline(setup)
    return said.text if said.step is not None and said.step.state in ("todo", "waiting") else ""


def _main_message(diagnosis: Diagnosis) -> str:
    if diagnosis.causes:
        main = diagnosis.causes[0]
        found, subjects = main.finding, main.subjects
        message = found.message if found is not None else main.message
    else:
        found, _, those = grouped(diagnosis.verdicts)[0]
        message, subjects = found.message, tuple(those)
    where = "" if is_whole(subjects) else f"{subject_parts(subjects)[0]}: "
    return f"{where}{one_line(sentence(message, subjects))}"


def heading_words(preliminary: bool) -> str:
    """What stands before the main cause."""
    return "so far, first" if preliminary else "do first"
