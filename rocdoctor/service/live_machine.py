"""This machine as a host: asked here, by another process, or as a process of it sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocdoctor.host import output
from rocdoctor.host.base import Host
from rocdoctor.host.live.patience import RUN
from rocdoctor.host.masking.own_names import own_masker
from rocdoctor.service.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocdoctor.host.live.live_host import Verb


def open_live(
    timeout_s: float,
    python: str | None,
    include_identity: bool = False,
    pid: int | None = None,
    far: bool = False,
    trust_python: bool = False,
    verbs: Mapping[str, Verb] | None = None,
) -> Host:
    """This machine, masked unless the identity was asked for, and recorded; with ``pid`` as that process sees it.

    ``far``: it is asked by another process, so that nothing it does can keep this one from ending. ``trust_python``:
    root runs the interpreter whoever can change it. ``verbs``: as of ``LiveHost``; another process has its own.
    """
    from rocdoctor.host.recorder import MaskedHost, Recorder

    host: Host
    if far:
        host = _open_far(timeout_s, python, pid, trust_python)
    elif pid is not None:
        host = _open_job(timeout_s, python, pid, trust_python)
    else:
        from rocdoctor.host.live.live_host import LiveHost

        host = LiveHost(timeout_s, python, None, trust_python, verbs, RUN)
    if not include_identity:
        host = MaskedHost(host, own_masker if far else own_masker())
    return Recorder(host)


def _open_far(timeout_s: float, python: str | None, pid: int | None, trust_python: bool) -> Host:
    from rocdoctor.host.supervised.supervised_host import FarHost

    host = FarHost(timeout_s, python, pid, trust_python)
    if pid is not None:
        problem, note = host.hello(timeout_s)
        if problem:
            host.close()
            raise InputError(problem)
        if note:
            output.note(note)
    return host


def _open_job(timeout_s: float, python: str | None, pid: int, trust_python: bool) -> Host:
    from rocdoctor.host.live.running_job import JobError, JobHost, find_job, hidden_of, live_for

    try:
        job = find_job(pid)
    except JobError as error:
        raise InputError(str(error)) from None
    if note := hidden_of(job):
        output.note(note)
    return JobHost(live_for(job, timeout_s, python, trust_python, RUN), job, python is not None)
