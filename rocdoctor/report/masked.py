"""A finished report without secrets and identities, whatever it was made from.

Evidence of a live machine and of a bundle is masked before anybody sees it; a folder, an archive or a pasted text is
not, and reports of those are posted too. So what a report says is masked once more, by a masker that knows nothing but
the evidence: a live report and that of its bundle stay equal, since masking what is masked changes nothing.

Every line goes through the masker, which tells at a glance what holds nothing of the kind: 0.05 s for a report. Another
list of telling words before it would have to know all that the masker knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rocdoctor.host.base import Host
from rocdoctor.model.finding import Cause, Diagnosis, Finding, Verdict
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.shell_command import reworded
from rocdoctor.model.subject import Subject

if TYPE_CHECKING:
    from rocdoctor.host.masking.masker import Masker

Mask = Callable[[str], str]


def _knows_nothing() -> Masker:
    from rocdoctor.host.masking.masker import Masker

    return Masker()


_MANY_VERDICTS = 100  # of fewer it is not worth while to look at all texts first
_MOST_HEARD = 4 * 1024 * 1024  # characters of a text whose lines may tell of each other


@dataclass(slots=True)
class Discretion:
    """Masks what a report says; the masker is made when the first text needs it."""

    make: Callable[[], Masker] = _knows_nothing
    told: str = ""  # a text whose lines the report quotes: what one of them tells may stand in any other
    _masker: Masker | None = field(default=None)
    _learned: int = 0
    _known: dict[str, str] = field(default_factory=dict)

    def _ready(self) -> Masker:
        """The masker, which has listened to the text; whatever the report then quotes is looked at closely."""
        if self._masker is None or self.told:
            masker = self._masker = self.make()
            told, self.told = self.told, ""
            if told:
                masker.hear(told[:_MOST_HEARD])
            self._learned = masker.learned()
        return self._masker

    def __call__(self, text: str) -> str:
        if not text:
            return text
        if text not in self._known:
            self._known[text] = self._ready().mask_text(text)
        return self._known[text]

    def foresee(self, texts: Iterable[str]) -> None:
        """Looks at the texts of a report together, each of which is asked about then."""
        self._ready().foresee(texts)

    def texts(self, texts: Sequence[str]) -> list[str]:
        """Several texts of one report: what one of them tells is masked in all of them."""
        made = [self(text) for text in texts]
        return [self(text) for text in texts] if self.learned() else made

    @property
    def used(self) -> bool:
        """Whether anything had to be looked at closely."""
        return self._masker is not None

    def learned(self) -> bool:
        """Whether names were learned since the masker was made, or this was asked; all is masked anew then."""
        if self._masker is None or self._masker.learned() == self._learned:
            return False
        self._learned = self._masker.learned()
        self._known.clear()
        return True


# Questions whose answers tell who and where: asked of evidence alone, where asking is looking up.
_TELLING = ("env", "read /etc/hostname", "read /proc/sys/kernel/hostname", "run hostname", "run uname -n", "run whoami")
_USERS = ("USER", "LOGNAME", "SUDO_USER", "USERNAME", "SLURM_JOB_USER")
_MASKED = regex(r"(?:user|host)-\d+(?:\.domain-\d+)?|<dropped>|masked-.*|~|localhost|root|user|")


def discretion_of(host: Host) -> Discretion:
    """What masks the reports of a host: it knows the names that the evidence tells, if the evidence still tells any."""
    from rocdoctor.host.recorder import masker_of

    known = masker_of(host)
    if known is not None:
        return Discretion(lambda: known)
    env: dict[str, str] = {}
    variables = ""
    told = host.ask("text") if host.kind != "live" else None
    hosts: list[str] = []
    users: list[str] = []
    if host.kind != "live":
        for question in _TELLING:
            answer = host.ask(question)
            if not answer.ok:
                continue
            if question == "env":
                variables = answer.text
                rows = (line.partition("=") for line in answer.text.splitlines() if "=" in line)
                env = {name: value for name, _, value in rows}
                users += [env.get(name, "") for name in _USERS]
                users.append(env.get("HOME", "").rstrip("/").rpartition("/")[2])
                hosts.append(env.get("HOSTNAME", ""))
            elif question == "run whoami":
                users.append(answer.text.strip())
            else:
                hosts.append(answer.text.strip().split("\n", 1)[0])
    hosts = [name for name in dict.fromkeys(hosts) if not _MASKED.fullmatch(name)]
    users = [name for name in dict.fromkeys(users) if not _MASKED.fullmatch(name)]

    def make() -> Masker:
        from rocdoctor.host.masking.masker import Masker

        masker = Masker()
        for name in hosts:
            masker.learn(hostname=name)
        masker.learn(extra_users=users, env=env)
        masker.hear(variables)  # hosts and folders that it tells
        return masker

    return Discretion(make, told.text if told is not None and told.ok else "")


def discreet(diagnosis: Diagnosis, mask: Discretion, card: Iterable[str] = (), places: bool = True) -> Diagnosis:
    """The diagnosis as it may be posted; ``card`` are the lines about the machine.

    ``places``: also what findings are about and where they were read; a linter's findings are in files of the user.
    """
    lines = list(card)
    if len(diagnosis.verdicts) > _MANY_VERDICTS:
        seen: dict[str, None] = {}
        _once(diagnosis, lambda text: seen.setdefault(text) or text, lines, places)
        mask.foresee(filter(None, seen))
    made = _once(diagnosis, mask, lines, places)
    if not mask.used:
        return diagnosis
    # What the last sentence tells may stand in the first.
    return _once(diagnosis, mask, lines, places) if mask.learned() else made


def _once(diagnosis: Diagnosis, mask: Mask, card: Iterable[str], places: bool) -> Diagnosis:
    shown = tuple(mask(line) for line in card)
    unanswered = tuple(
        replace(one, question=mask(one.question), why=mask(one.why)) for one in diagnosis.machine.unanswered
    )
    return replace(
        diagnosis,
        card=shown,
        machine=replace(diagnosis.machine, unanswered=unanswered) if unanswered else diagnosis.machine,
        verdicts=tuple(_verdict(one, mask, places) for one in diagnosis.verdicts),
        causes=tuple(_cause(one, mask, places) for one in diagnosis.causes),
        next=tuple(
            replace(one, command=reworded(one.command, mask(one.command)), why=mask(one.why)) for one in diagnosis.next
        ),
        problems=tuple(mask(one) for one in diagnosis.problems),
    )


def _verdict(one: Verdict, mask: Mask, places: bool) -> Verdict:
    subject, why = _subject(one.subject, mask) if places else one.subject, mask(one.why)
    new = None if one.finding is None else _finding(one.finding, mask, places)
    if (subject, why, new) == (one.subject, one.why, None):
        return one
    gap = None if one.gap is None else replace(one.gap, why=why)
    return replace(one, subject=subject, why=why, gap=gap, finding=new)


def _subject(one: Subject, mask: Mask) -> Subject:
    """What it is about, its name masked as it stands in the label; what masking leaves alone stays the same value."""
    return one if mask(one.label) == one.label else one.named(mask)


def _finding(found: Finding, mask: Mask, places: bool) -> Finding:
    evidence = tuple(
        replace(one, value=mask(one.value), source=mask(one.source) if places else one.source) for one in found.evidence
    )
    fix = found.fix
    if fix is not None:
        command = reworded(fix.command, mask(fix.command))
        verify = reworded(fix.verify, mask(fix.verify))
        fix = replace(fix, text=mask(fix.text), command=command, verify=verify)
    subject = _subject(found.subject, mask) if places and found.subject is not None else found.subject
    return replace(found, message=mask(found.message), evidence=evidence, fix=fix, subject=subject)


def _cause(one: Cause, mask: Mask, places: bool) -> Cause:
    subjects = tuple(_subject(each, mask) for each in one.subjects) if places else one.subjects
    finding = None if one.finding is None else _finding(one.finding, mask, places)
    return replace(one, message=mask(one.message), remedy=mask(one.remedy), subjects=subjects, finding=finding)
