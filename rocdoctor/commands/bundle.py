"""``rocdoctor bundle``: the evidence in one text file that is safe to post."""

from __future__ import annotations

import argparse
import os
import sys
import time

from rocdoctor import __version__
from rocdoctor.cli import UsageError
from rocdoctor.collect import collect
from rocdoctor.commands.common import Progress, chosen_checks, open_host
from rocdoctor.diagnose import diagnose
from rocdoctor.host.base import Host
from rocdoctor.host.capture import write
from rocdoctor.host.recorder import MaskedHost, Recorder
from rocdoctor.report.text import render


def run(options: argparse.Namespace) -> int:
    """Collect once, judge, write both: the report for people first, then every question with its answer."""
    progress = Progress(options.quiet)
    progress.say("asking the machine" if options.source is None else "reading the evidence")
    host = open_host(options)
    recorder = host if isinstance(host, Recorder) else Recorder(_masked(host, options.include_identity))
    machine = collect(recorder, smoke=_smoke(options))
    checks, problems = chosen_checks((), ())
    text = render(diagnose(machine, checks, problems))
    progress.done()
    headers = {"origin": "recorded" if host.kind == "live" else f"replayed from {host.kind}", "rocdoctor": __version__}
    content = write(recorder.answers.values(), headers, summary=text)
    path = options.output or time.strftime("rocdoctor-%Y%m%d-%H%M%S.txt")
    if path == "-":
        sys.stdout.write(content)
        return 0
    _write_new(path, content)
    print(f"wrote {path} ({len(content.encode()) // 1024 + 1} KiB); read it before you post it", file=sys.stderr)
    return 0


def _smoke(options: argparse.Namespace) -> str:
    if not options.with_smoke:
        return ""
    if options.source is not None:
        raise UsageError("--with-smoke runs tests on this machine; it does not go with --from")
    from rocdoctor.smoke.live import Request

    return Request().question()


def _masked(host: Host, include_identity: bool) -> Host:
    if include_identity:
        return host
    from rocdoctor.host.masking import Masker

    return MaskedHost(host, Masker())


def _write_new(path: str, content: str) -> None:
    """Write a file that did not exist, readable by its owner alone; no link is followed, no half file is left."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileExistsError:
        raise UsageError(f"{path}: exists already; bundles are never overwritten") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(content)
    except OSError as error:
        os.unlink(path)
        raise UsageError(f"{path}: {error.strerror}") from None
