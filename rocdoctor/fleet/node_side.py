"""What runs on a node that an engine asks, and what its end means. Pure.

An engine that gives up ends nothing on the node; what a signal ended is 255 for ssh, as a lost connection is, and no
end at all for srun; Ansible holds several times what it is sent (all tried 2026-11-29 with OpenSSH 9.2, ClusterShell
1.9.1, pdsh 2.34, ansible-core 2.19). So the node itself ends what hangs, cuts what is too long, and says so.
Statuses: timeout(1), ssh(1) and the shell; of Flux, src/cmd/flux-exec.c in flux-framework/flux-core.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rocdoctor.fleet.record import MOST_BYTES
from rocdoctor.model.lazy_re import regex

MOST_COMPLAINED = 8192
TOO_LARGE = "larger than a record may be"
_LATE = "no record within"
# Login shells read it too, and Jinja: no quote, backslash, percent or exclamation mark, and no brace next to another.
# $1 is the name of the node, where one is told. What may end the program is the end of what it writes to, too.
_SCRIPT = (
    "exec 4>&1; s=$({{ {{ {{ timeout --kill-after=5 {limit} {record} 3>&- 4>&- 5>&-; echo $? >&3; }}"
    " 2>&1 1>&5 | {{ head -c {errors}; exec cat > /dev/null; }} >&2; }}"
    " 5>&1 | {{ head -c {sent} >&4; [ $(head -c 1 | wc -c) -eq 0 ] || echo over >&3; }}; }} 3>&1);"
    " case $s in 0) exit 0 ;; esac; exec >&2; echo; case $s in *over*) s=1; echo {long} ;;"
    " 124 | 137) s=124; echo {late} {limit} s ;; *) echo exited with exit code $s ;; esac; exit $s"
)
_EXITED = r"(?:(?:ssh|sh) )?exited with exit code (\d{1,3})"
_STATUS = regex(rf"{_EXITED}|task \d{{1,6}}: Exited with exit code (\d{{1,3}})")
# As clush and pdsh, and as Ansible 2.19 and earlier word their own limits (task_executor.py of ansible/ansible).
_TIMED_OUT = regex(r"command timeout|(?:Task failed: )?(?:Timed out after \d|The \S{1,40} action failed to execute in)")
_OF_SSH = 255
_CUT = 141  # what has sent so much that nobody reads on


def on_node(program: str, key: str | None, limit_s: int, node: str | None = None) -> tuple[str, ...]:
    """What an engine runs on a node, which prints a record; ``node`` is what the engine writes in place of its name."""
    keyed = f" --key {key}" if key is not None else ""
    named = " --node $1" if node is not None else ""
    script = _SCRIPT.format(
        limit=limit_s,
        record=f"{program} record --out - --quiet{keyed}{named}",
        errors=MOST_COMPLAINED // 2,
        sent=MOST_BYTES + 1,
        long=TOO_LARGE,
        late=_LATE,
    )
    return ("sh", "-c", script, *(("sh", node) if node is not None else ()))


def failed(said: Sequence[str]) -> bool:
    """Whether what was said of a node tells that its program failed, and not only that it complained."""
    return any(_STATUS.search(one) or _TIMED_OUT.match(one) or _known(one) for one in _parts(said))


def missing_reason(said: Sequence[str], program: str, limit_s: int, by_hand: str, over: bool) -> str:
    """Why there is no record of a node, of what was said of it and whether the run was cut.

    ``by_hand``: a command that shows whether the node can be reached.
    """
    parts = _parts(said)
    words = list(dict.fromkeys(filter(None, (_of_status(one, program, limit_s) for one in parts))))
    if known := [one for one in words if _known(one)]:
        return known[0]
    if words:
        return "; ".join(words)[:300]
    if parts:
        return f"the connection ended without a word; try: {by_hand}"
    return f"no word of this node{' before the end of the run' if over else ''}; try: {by_hand}"


def _parts(said: Sequence[str]) -> list[str]:
    return [part for one in said for part in one.split("; ") if part]


def _known(words: str) -> bool:
    return words == TOO_LARGE or words.startswith(f"{_LATE} ")


def _of_status(words: str, program: str, limit_s: int) -> str:
    """An exit status in words, nothing for the one that tells nothing; others as they are."""
    if _TIMED_OUT.match(words):
        return f"{_LATE} {limit_s} s"
    found = _STATUS.search(words)
    if found is None:
        return words
    status = int(found[1] or found[2])
    if status in (124, 137):
        return f"{_LATE} {limit_s} s"
    if status == _CUT:
        return TOO_LARGE
    if status in (126, 127):
        return f"{program} is not on this node, or cannot be run; --program names it"
    return "" if status == _OF_SSH else re.sub(_EXITED, rf"exited with exit code {status}", words)
