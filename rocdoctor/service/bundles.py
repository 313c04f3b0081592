"""Bundles: the evidence of a machine, masked, with the report for people in front."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rocdoctor import __version__
from rocdoctor.collect import collect
from rocdoctor.host.base import Answer, Host, Kind
from rocdoctor.host.evidence.capture import CaptureError, CaptureHost, pack, parse, write
from rocdoctor.host.live.new_file import folder_for, write_new
from rocdoctor.host.recorder import MaskedHost, Recorder, settled
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.model.facts import Machine
from rocdoctor.model.printable import spelled
from rocdoctor.report.machine.bundle_document import masked_counts, masked_text, summary
from rocdoctor.report.machine.summary import machine_lines
from rocdoctor.report.masked import discreet, discretion_of
from rocdoctor.service.errors import UsageError
from rocdoctor.service.session import chosen_checks

# Forges and mail refuse larger attachments as text.
PACKED_ABOVE_BYTES = 5_000_000


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that is not written yet: the answers as they will stand in it, the part for people, and the whole text.

    ``masked`` are the classes of what was masked (words, different values, places).
    """

    answers: tuple[Answer, ...]
    summary: str
    content: str
    masked: tuple[tuple[str, int, int], ...]
    identity_kept: bool = False

    @property
    def said(self) -> str:
        """What was masked, in a sentence."""
        return masked_text(list(self.masked), self.identity_kept)


def recorder_of(host: Host, include_identity: bool = False) -> Recorder:
    """The host as one that keeps every answer, masked unless the identity was asked for."""
    if isinstance(host, Recorder) and (include_identity or isinstance(host.inner, MaskedHost)):
        return host
    return Recorder(_masked(host, include_identity))


def bundle_of(recorder: Recorder, machine: Machine, kind: Kind, identity_kept: bool = False) -> Bundle:
    """The bundle of what the recorder has kept; ``machine`` is what was collected from it.

    Raises UsageError where it would hold more than a capture may.
    """
    headers = {"origin": "recorded" if kind == "live" else f"replayed from {kind}", "rocdoctor": __version__}
    answers, machine = _settled(recorder, machine, headers)
    checks, problems = chosen_checks((), ())
    texts = [answer.text for answer in answers]
    diagnosis = diagnose(machine, checks, problems)
    if not identity_kept:  # as `check` shows it
        diagnosis = discreet(diagnosis, discretion_of(recorder), machine_lines(machine))
    counts = masked_counts(texts)
    text = summary(diagnosis, counts, identity_kept)
    return Bundle(tuple(answers), text, write(answers, headers, text), tuple(counts), identity_kept)


def _masked(host: Host, include_identity: bool) -> Host:
    if include_identity:
        return host
    from rocdoctor.host.masking.masker import Masker
    from rocdoctor.host.masking.own_names import own_masker

    return MaskedHost(host, own_masker() if host.kind == "live" else Masker())


def _settled(recorder: Recorder, machine: Machine, headers: dict[str, str]) -> tuple[Iterable[Answer], Machine]:
    """The answers masked with all names that any of them told, and the machine as they show it.

    A name that was learned late stands in earlier answers; the report must be that of the file, not of the run.
    """
    answers = settled(recorder)
    if answers == list(recorder.answers.values()):
        return answers, machine
    try:
        capture = parse(write(answers, headers).encode())
    except CaptureError as error:
        raise UsageError(f"{recorder.origin}: too much for a bundle: {error}") from None
    return answers, collect(CaptureHost(capture, recorder.origin))


def write_bundle(content: str, output: str | None, gzip: bool) -> tuple[Path, int, bool]:
    """(path, bytes, packed) of the new file, mode 0600. Large ones are packed also where nobody asked for it.

    ``output`` is a file or a folder, None for the current one. Raises UsageError; nothing is ever overwritten.
    """
    data = content.encode()
    packed = gzip or len(data) > PACKED_ABOVE_BYTES
    data = pack(content) if packed else data
    return _written(output, data, ".gz" if packed else ""), len(data), packed


def own_name() -> str:
    """The name that a bundle of this second gets."""
    return time.strftime("rocdoctor-%Y%m%d-%H%M%S") + ".txt"


def _written(output: str | None, data: bytes, ending: str) -> Path:
    """The path of the new file; a name of our own choice is never taken already."""
    given = Path(output) if output else Path()
    chosen = output is not None and not given.is_dir()
    stem = own_name().removesuffix(".txt")
    for number in range(1, 100):
        path = given if chosen else given / f"{stem}{f'-{number}' if number > 1 else ''}.txt"
        if ending and path.suffix != ending:
            path = path.with_name(path.name + ending)
        try:
            with folder_for(path.parent) as folder:
                write_new(path, data, folder=folder)
        except FileExistsError:
            if chosen:
                raise UsageError(f"{spelled(str(path))}: already exists; bundles are never overwritten") from None
        except OSError as error:
            raise UsageError(f"{spelled(str(path))}: {error.strerror or error}") from None
        else:
            return path
    raise UsageError(f"{given}: holds a hundred bundles of this second")
