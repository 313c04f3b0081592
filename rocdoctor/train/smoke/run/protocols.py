"""Which protocol or algorithm of NCCL or RCCL delivers wrong values: each is forced alone, on ranks made anew.

Both libraries choose by the size of a message and the links, and both take ``NCCL_PROTO`` and ``NCCL_ALGO`` (NCCL's
user guide, environment variables; RCCL's reference, environment variables; read 2026-11-24).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rocdoctor.parsers.own.smoke_results import ModeResult
from rocdoctor.train.smoke.judge.verdicts import judge
from rocdoctor.train.smoke.run.pool import ModeRecord, Pool

Start = Callable[[dict[str, str]], ModeRecord]
_CHOICES = {"NCCL_PROTO": ("LL", "LL128", "Simple"), "NCCL_ALGO": ("Ring", "Tree")}
# Both libraries take LL128 by themselves only where they know it to be safe (NCCL: generation, NVLink, no way through
# the CPU to the network; RCCL of October 2024: gfx90a with a tuning table). Asked for, they take it everywhere, and
# untested links may corrupt data (src/graph/tuning.cc of both, read 2026-11-24): a healthy machine may fail with it. So
# it is tried only where the mode went wrong without it, as it did by NCCL's own choice in 2.18.1 (its release notes).
_UNSAFE = "LL128"


def forced(found: ModeResult, pool: Pool, start: Start, limit_s: float) -> ModeResult:
    """The result of a mode with what it depends on; a mode that passed fails where one of them is wrong.

    ``start`` makes the ranks anew with variables of their own. What the user has set stays as it is; what a library
    refuses is left out: its ranks do not come up.
    """
    words, shown = [], found
    for variable, choices in _CHOICES.items():
        if variable in pool.surroundings:
            continue
        if found.state == "pass":
            choices = tuple(choice for choice in choices if choice != _UNSAFE)
        states = {choice: _alone(found.mode, pool, start, limit_s, {variable: choice}) for choice in choices}
        right = [choice for choice, one in states.items() if one is not None and one.state == "pass"]
        wrong = {choice: one for choice, one in states.items() if one is not None and one.state == "fail"}
        if wrong and right and (len(right) == 1 or _works(found.mode, pool, start, limit_s, variable, right)):
            listed = " and ".join(wrong)
            avoided = f"set {variable}={','.join(right)}"
            words.append(f"wrong with {variable}={listed}, right with {', '.join(right)}: {avoided}")
            if shown.state == "pass":
                shown = next(iter(wrong.values()))
    if not words:
        return found
    return replace(shown, message=f"{'; '.join(words)}; {shown.message}"[:600])


def _works(mode: str, pool: Pool, start: Start, limit_s: float, variable: str, right: list[str]) -> bool:
    """Whether what is about to be advised helps: each choice was right alone, but a library picks among them."""
    found = _alone(mode, pool, start, limit_s, {variable: ",".join(right)})
    return found is not None and found.state == "pass"


def _alone(mode: str, pool: Pool, start: Start, limit_s: float, variables: dict[str, str]) -> ModeResult | None:
    return judge(pool.run(mode, limit_s)) if judge(start(variables)).state == "pass" else None
