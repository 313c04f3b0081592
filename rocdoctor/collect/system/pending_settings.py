"""What was configured and takes effect later: the command line and the kernels of the next start, limits of a login."""

from __future__ import annotations

from collections.abc import Mapping

from rocdoctor.collect.reading import names_in
from rocdoctor.host.base import Host
from rocdoctor.model.evidence import Fact, Known, Source, Unknown
from rocdoctor.model.facts import Later
from rocdoctor.parsers.system.pending_settings import grub_words, limits_for_all

_GRUB = ("/etc/default/grub", "/etc/default/grub.d/*.cfg")
_LIMITS = ("/etc/security/limits.conf", "/etc/security/limits.d/*.conf")
_MODULES = "list /lib/modules/*"
_MOST = 200  # files of one folder


def prefetch(host: Host) -> None:
    """Start on what is always asked."""
    host.prefetch([_MODULES, *(f"read {first}" for first, _ in (_GRUB, _LIMITS))])
    host.prefetch(f"list {pattern}" for _, pattern in (_GRUB, _LIMITS))


def collect_later(host: Host) -> Later:
    """Kernels with modules, the words of GRUB's settings, and the limits that files give to everybody."""
    answer = host.ask(_MODULES)
    kernels: Fact[tuple[str, ...]] = answer.unknown()
    if answer.ok and (answer.complete or answer.lines()):
        kernels = Known(tuple(path.rsplit("/", 1)[-1] for path in answer.lines()[:_MOST]), answer.source())
    return Later(kernels, _boot_words(host), _limits(host))


def _texts(host: Host, files: tuple[str, str]) -> tuple[list[str], Unknown | None, Source]:
    """(texts of the files in the order in which they count, why one is missing, where the last stands)."""
    paths = [files[0], *sorted(names_in(host, files[1], _MOST))]
    answers = [host.ask(f"read {path}") for path in paths]
    read = [answer for answer in answers if answer.ok]
    gap = next((answer.unknown() for answer in answers if not answer.ok and answer.status != "absent"), None)
    return [answer.text for answer in read], gap, (read[-1] if read else answers[0]).source()


def _boot_words(host: Host) -> Fact[tuple[str, ...]]:
    texts, gap, source = _texts(host, _GRUB)
    words = grub_words(texts)
    if gap is not None or words is None:
        return gap or Unknown("no settings of GRUB are in this evidence", "absent", source)
    return Known(words, source)


def _limits(host: Host) -> Fact[Mapping[str, str]]:
    texts, gap, source = _texts(host, _LIMITS)
    return gap if gap is not None else Known(limits_for_all(texts), source)
