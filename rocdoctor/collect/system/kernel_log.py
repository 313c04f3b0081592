"""The kernel log, from whatever holds it."""

from __future__ import annotations

from rocdoctor.host.base import Answer, Host
from rocdoctor.knowledge.messages.kernel_log import kernel_signatures
from rocdoctor.model.evidence import Fact, Known, Source, Unknown
from rocdoctor.model.facts import KernelLog, LogEvent
from rocdoctor.parsers.logs.dmesg import KernelLogText as ParsedLog
from rocdoctor.parsers.logs.dmesg import parse

# The same log, best first: the ring buffer, then what the journal or syslog kept of this boot.
QUESTIONS = (
    "run dmesg",
    "run journalctl -k -b --no-pager -o short-monotonic",
    "run journalctl -k -b --no-pager",
    "run journalctl --dmesg --no-pager",
    "read /var/log/dmesg",
    "read /var/log/kern.log",
    "read /var/log/messages",
    "read /var/log/syslog",
)
_LIVE = QUESTIONS[:2]


def prefetch(host: Host) -> None:
    """Start on the log early: the ring buffer of a busy server takes a while to print."""
    host.prefetch(QUESTIONS[:1])


def prefetch_journal(host: Host) -> None:
    """Start on the journal where the ring buffer is refused: one that hangs then costs its deadline beside others."""
    answer = host.ask(QUESTIONS[0])
    if answer.status != "timeout" and answer.exit_code != 0:
        host.prefetch(_LIVE[1:])


def _spelled_otherwise(host: Host) -> list[str]:
    return [question for question in host.available() if question.startswith(("run dmesg", "run journalctl"))]


def collect_log(host: Host, uptime_s: Fact[float]) -> Fact[KernelLog]:
    """The log with its events, or why there is none (``denied`` when only root may read it)."""
    questions = _LIVE if host.kind == "live" else tuple(dict.fromkeys([*QUESTIONS, *_spelled_otherwise(host)]))
    refusal: Unknown | None = None
    for question in questions:
        answer = host.ask(question)
        if not answer.ok or not answer.data:
            if answer.status in ("denied", "timeout"):
                refusal = refusal or answer.unknown()
            if answer.status == "timeout" and host.kind == "live":
                break  # the journal of a machine that is this slow would cost another deadline
            continue
        log = parse(answer.text, kernel_signatures())
        if log.refused is not None and not log.events:
            refusal = Unknown("only root can read the kernel log on this machine", "denied", answer.source())
            continue
        if not log.lines:
            continue
        return Known(_facts(log, answer, uptime_s), answer.source())
    return refusal or Unknown("no kernel log in this evidence", "not-asked", Source(QUESTIONS[0]))


def _facts(log: ParsedLog, answer: Answer, uptime_s: Fact[float]) -> KernelLog:
    now = uptime_s.value if isinstance(uptime_s, Known) else None
    events = tuple(
        LogEvent(
            event.kind,
            event.line,
            event.text,
            event.bdf,
            event.time_s,
            now - event.time_s if now is not None and event.time_s is not None and now >= event.time_s else event.age_s,
            event.before_driver_load,
            event.during_resume,
            dict(event.values),
        )
        for event in log.events
    )
    return KernelLog(answer.question, log.complete and answer.complete, events, log.link_flaps())
