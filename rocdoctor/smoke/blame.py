"""From what each rank left behind to one verdict: which rank, which layer, in which words. Pure.

The order of suspicion: a rank that died by itself; one that failed by an error of its own; one that says nothing while
others wait for it; ranks that entered different collectives; wrong numbers, where the earliest stage of a step decides.
Ranks that merely lost another rank, or waited for one in vain, are victims and never named.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rocdoctor.smoke.late import innermost_frames, waits
from rocdoctor.smoke.pool import ModeRecord, RankRecord
from rocdoctor.smoke.results import Layer, ModeResult, RankResult, State
from rocdoctor.smoke.worker.compare import closeness, order_of

_LAYER_OF_KIND: dict[str, Layer] = {
    "memory": "configuration", "space": "configuration", "device": "device", "collective": "collectives",
    "link": "link",
}  # fmt: skip
_STAGE_WORDS = {
    "input": "the input of", "before": "before", "local": "this rank's own part of", "value": "the result of",
    "loss": "the loss of", "grad": "the gradients of", "param": "the parameters after",
}  # fmt: skip


def judge(record: ModeRecord) -> ModeResult:
    """The verdict over one mode."""
    ranks = record.ranks
    states = [_state(one) for one in ranks]
    if all(state == "pass" for state in states):
        late = [one for one in ranks if one.late_s]
        return _late(record, late) if late else _result(record, "pass", "")
    if "crashed" in states:
        return _crashed(record)
    if "fail" in states:
        return _wrong(record)
    first = next(one for one, state in zip(ranks, states, strict=True) if state != "pass")
    return _result(record, "not-applicable", _said(first))


def _late(record: ModeRecord, late: Sequence[RankRecord]) -> ModeResult:
    """Right numbers, but a rank did nothing for seconds while all others waited for it."""
    words = f"{_ranks(late)} kept the others waiting for {max(one.late_s for one in late):.0f} s without doing anything"
    where = f", in {late[0].late_in}" if late[0].late_in else ""
    return _result(record, "fail", words + where, "configuration", [one.rank for one in late])


def _state(one: RankRecord) -> State:
    if one.result is None:
        return "crashed"
    state: State = one.result.get("state", "crashed")
    # Some torch builds abort at exit after all work is done; what counts is that the result had been given.
    return state


def _said(one: RankRecord) -> str:
    return str((one.result or {}).get("message", ""))


def _kind(one: RankRecord) -> str:
    return str((one.result or {}).get("kind", ""))


def _crashed(record: ModeRecord) -> ModeResult:
    ranks = record.ranks
    broken = [one for one in ranks if _state(one) == "crashed"]
    if broken and all(_kind(one) == "unsupported" for one in broken if one.result is not None) and not any(
        one.result is None for one in broken
    ):  # fmt: skip
        return _result(record, "not-applicable", f"not supported here: {_said(broken[0])}")
    for suspects, layer, words in _suspicions(broken, ranks):
        if suspects:
            return _result(record, "crashed", words, layer, [one.rank for one in suspects])
    return _result(record, "crashed", "the test ended without an answer", "framework")


def _suspicions(broken: Sequence[RankRecord], ranks: Sequence[RankRecord]) -> list[tuple[list[RankRecord], Layer, str]]:
    died = sorted((one for one in broken if one.ended and one.result is None), key=lambda one: one.ended_at)
    own = sorted(
        (one for one in broken if one.result is not None and _kind(one) not in ("victim", "unsupported")),
        key=lambda one: one.at,
    )
    silent = [one for one in broken if one.silent]
    others = [one for one in broken if one.result is not None and one not in own]
    found: list[tuple[list[RankRecord], Layer, str]] = []
    mismatch = _mismatch(ranks)
    # Several C++ errors abort a process although its partner is the one that sent something else.
    aborted = bool(died) and died[0].exit_signal == signal.SIGABRT
    if mismatch is not None and (aborted or not died) and not any(_kind(one) not in ("collective",) for one in own):
        found.append(mismatch)
    if died and not (own and own[0].at < died[0].ended_at):
        found.append(_died(died))
    if own:
        same = [one for one in own if _said(one) == _said(own[0])]
        layer = _LAYER_OF_KIND.get(_kind(own[0]), "framework")
        who = "every rank" if 1 < len(same) == len(ranks) else _ranks(same)
        found.append((same, layer, f"{who}{_at(own[0])}: {_said(own[0])}"))
    if died:
        found.append(_died(died))
    gone = [one for one in ranks if _state(one) == "fail"] or [one for one in ranks if _state(one) == "pass"]
    if gone and all(waits(one.stack) for one in silent):
        found.append(_went_on(gone))
    if silent and (others or len(silent) < len(ranks)):
        found.append(_silent(silent, ranks))
    if silent:
        behind = _behind(silent)
        found.append(_silent(behind, ranks) if len(behind) < len(ranks) else _nobody(silent))
    if others:
        words = f"every rank waited for the others in vain{_at(others[0])}: {_said(others[0])}"
        found.append((others, "collectives", words))
    return found


def _died(died: Sequence[RankRecord]) -> tuple[list[RankRecord], Layer, str]:
    first = died[0]
    layer: Layer = "framework"
    if first.exit_signal is None:
        how = f"ended with exit status {first.exit_status} before the test was done"
    else:
        name = (
            signal.Signals(first.exit_signal).name if first.exit_signal in list(signal.Signals) else first.exit_signal
        )
        how = f"was ended by signal {first.exit_signal} ({name})"
        if first.exit_signal == signal.SIGKILL:
            layer, how = "configuration", how + "; the kernel does this when memory runs out (see the kernel log)"
        elif first.exit_signal == signal.SIGBUS:
            layer, how = "configuration", how + "; a full /dev/shm does this"
    last = first.log.splitlines()[-1] if first.log and first.exit_signal == signal.SIGABRT else ""
    return [first], layer, f"{_ranks([first])} {how}{_at(first)}" + (f": {last}" if last else "")


def _silent(silent: Sequence[RankRecord], ranks: Sequence[RankRecord]) -> tuple[list[RankRecord], Layer, str]:
    stopped = [one for one in silent if one.process_state in ("T", "t")]
    stuck = [one for one in silent if one.process_state == "D"]
    if stopped:
        return stopped, "configuration", f"{_ranks(stopped)} is stopped (a signal or a debugger){_at(stopped[0])}"
    if stuck:
        words = f"{_ranks(stuck)} hangs inside the kernel (uninterruptible){_at(stuck[0])}"
        return stuck, "device", words
    # Ranks that wait inside a collective for somebody are victims, as long as another one is elsewhere.
    elsewhere = [one for one in silent if not waits(one.stack)]
    chosen = elsewhere if elsewhere and len(elsewhere) < len(ranks) else _behind(silent)
    where = innermost_frames(chosen[0].stack)
    layer: Layer = "collectives" if waits(chosen[0].stack) else "framework"
    return chosen, layer, f"{_ranks(chosen)} gave no answer{_at(chosen[0])}" + (f"; it was in {where}" if where else "")


def _went_on(gone: Sequence[RankRecord]) -> tuple[list[RankRecord], Layer, str]:
    """Ranks that came to the end while all others wait for them: they left something out."""
    fault = next(iter((gone[0].result or {}).get("faults", ())), None)
    words = f"{_ranks(gone)} came to the end while the others still waited: it left out a collective{_at(gone[0])}"
    return list(gone), "framework", words + (f"; {fault['name']}: {fault['words']}" if fault else "")


def _nobody(silent: Sequence[RankRecord]) -> tuple[list[RankRecord], Layer, str]:
    return list(silent), "collectives", f"no rank gave an answer{_at(silent[0])}; all wait in the same place"


def _behind(silent: Sequence[RankRecord]) -> list[RankRecord]:
    """The ranks that entered the fewest collectives."""
    least = min(int(one.note.get("seq", 0)) for one in silent)
    return [one for one in silent if int(one.note.get("seq", 0)) == least]


# Collectives whose tensors have the same sizes on all ranks; others may differ.
_EQUAL_SIZES = (
    "all_gather_into_tensor", "all_gather_single", "all_reduce", "broadcast", "reduce", "reduce_scatter_single",
    "reduce_scatter_tensor",
)  # fmt: skip


def _mismatch(ranks: Sequence[RankRecord]) -> tuple[list[RankRecord], Layer, str] | None:
    """Ranks whose last collective is another one than that of most ranks of the same group."""
    groups: dict[str, list[RankRecord]] = {}
    for one in ranks:
        groups.setdefault(str(one.note.get("call", "")).partition(" among ")[2], []).append(one)
    return next(filter(None, map(_mismatch_within, groups.values())), None)


def _mismatch_within(ranks: Sequence[RankRecord]) -> tuple[list[RankRecord], Layer, str] | None:
    numbers = {int(one.note.get("seq", 0)) for one in ranks}
    if len(numbers) != 1 or 0 in numbers:
        return None
    calls = {one.rank: str(one.note.get("call", "")) for one in ranks}
    kinds = {_kind_of_call(call) for call in calls.values()}
    if len(kinds) < 2:
        return None
    counts = Counter(_kind_of_call(call) for call in calls.values()).most_common()
    usual = counts[0][0]
    alone = [one for one in ranks if _kind_of_call(calls[one.rank]) != usual]
    if len(counts) > 1 and counts[1][1] == counts[0][1]:  # as many on either side: what was announced decides
        alone = [one for one in ranks if not _announced(one)] or list(ranks)
    number = numbers.pop()
    words = "; ".join(f"rank {rank} entered {call}" for rank, call in sorted(calls.items())[:4])
    return alone, "framework", f"the ranks entered different collectives as number {number}{_at(ranks[0])}: {words}"


def _kind_of_call(call: str) -> str:
    """The call as it must agree among ranks: sending and receiving are two sides of one thing."""
    name, _, shape = call.partition(" ")
    if name in ("send", "recv", "isend", "irecv"):
        return ""
    return f"{name} {shape}" if name in _EQUAL_SIZES else name


def _announced(one: RankRecord) -> bool:
    """Whether the call is the one that the step announced."""
    mark, call = str(one.note.get("mark", "")), str(one.note.get("call", ""))
    return call in mark or mark in call


def _wrong(record: ModeRecord) -> ModeResult:
    """Wrong numbers: the earliest stage in which any rank differs names the ranks that differ there."""
    bad = [one for one in record.ranks if (one.result or {}).get("faults")]
    first = {one.rank: min(order_of(fault) for fault in one.result["faults"]) for one in bad if one.result is not None}
    earliest = min(first.values())
    named = [one for one in bad if first[one.rank] == earliest]
    shown = named[0]
    assert shown.result is not None
    fault = min(shown.result["faults"], key=order_of)
    step, stage = int(fault["step"]), str(fault["stage"])
    everyone = len(named) == len(record.ranks)
    if stage in ("local", "input"):
        layer: Layer = "device" if not everyone else "framework"
    elif everyone:
        layer = "collectives" if len(record.ranks) > 1 else "device"
    else:
        layer = "link" if any(one.gpu for one in record.ranks) else "collectives"
    layer = fault.get("layer", layer)
    if everyone and len(named) > 1 and layer == "device":
        layer = "framework"  # not all devices break alike
    who = "every rank" if everyone and len(named) > 1 else _ranks(named)
    words = f"{_STAGE_WORDS[stage]} step {step}, {fault['name']}: {fault['words']}"
    origin = _origin(named, earliest)
    if origin is not None and [one.rank for one in named] != [origin]:
        whose = _ranks([one for one in record.ranks if one.rank == origin])
        words = f"what {whose} sent is wrong at {'every rank' if everyone else _ranks(named)}: {words}"
        # One that got it wrong alone, from another: it cannot be told which end of the way it is.
        accused = {origin} if len(named) > 1 else {origin, named[0].rank}
        return _result(record, "fail", words, layer, sorted(accused), step)
    return _result(record, "fail", f"{who}: {words}", layer, [one.rank for one in named], step)


def _origin(named: Sequence[RankRecord], earliest: tuple[int, int, int]) -> int | None:
    """The one rank that all elements came from which are wrong at any of the named ranks, where that is known."""
    found: set[int] = set()
    for one in named:
        for fault in (one.result or {}).get("faults", ()):
            if order_of(fault) == earliest:
                if not fault.get("origins"):
                    return None
                found.update(fault["origins"])
    return found.pop() if len(found) == 1 else None


def located(found: ModeResult, record: ModeRecord) -> ModeResult:
    """The verdict with the rank whose contributions arrive wrong, where a second look (``locate``) found just some."""
    seen = [set((one.result or {}).get("facts", {}).get("suspects", ())) for one in record.ranks]
    suspects = set.intersection(*seen) if seen else set()
    if not suspects or len(suspects) == len(record.ranks):
        return found
    ranks = tuple(replace(one, named=one.rank in suspects) for one in found.ranks)
    owners = _ranks([one for one in record.ranks if one.rank in suspects])
    words = f"what {owners} contributes arrives wrong at every rank; {found.message}"
    return replace(found, ranks=ranks, layer="device", message=words[:600])


def _ranks(many: Sequence[RankRecord]) -> str:
    ordered = sorted(many, key=lambda one: one.rank)
    places = {_where(one) for one in ordered}
    each = len(places) > 1
    names = ", ".join(f"{one.rank}{_where(one) if each else ''}" for one in ordered[:8])
    return (
        ("rank " if len(many) == 1 else "ranks ")
        + names
        + (" ..." if len(many) > 8 else "")
        + ("" if each else places.pop())
    )


def _where(one: RankRecord) -> str:
    parts = [] if one.node is None else [f"node {one.node}"]
    parts += [f"GPU {one.gpu}"] if one.gpu else []
    return f" ({', '.join(parts)})" if parts else ""


def _at(one: RankRecord) -> str:
    mark, call = str(one.note.get("mark", "")), str(one.note.get("call", ""))
    words = f" at '{mark}'" if mark and mark != "start" else ""
    return words + (f" (last collective: number {one.note.get('seq')}, {call.strip()})" if call else "")


def _result(
    record: ModeRecord, state: State, words: str, layer: Layer = "", named: Sequence[int] = (), step: int | None = None
) -> ModeResult:
    errors: dict[str, float] = {}
    tolerances: dict[str, float] = {}
    facts: dict[str, Any] = {}
    for one in record.ranks:
        found = one.result or {}
        limits = found.get("tolerances", {})
        for name, error in found.get("errors", {}).items():
            if name not in errors or closeness(error, limits[name]) > closeness(errors[name], tolerances[name]):
                errors[name], tolerances[name] = error, limits[name]
        facts.update(found.get("facts", {}) if one.rank == 0 else {})
    shown = tuple(
        RankResult(one.rank, _rank_state(one, state), _rank_words(one)[:300], one.gpu, one.rank in named)
        for one in record.ranks
    )
    return ModeResult(
        record.mode, state, record.wall_s, " ".join(words.split())[:600], errors, tolerances, layer, step, shown, facts
    )


def _rank_state(one: RankRecord, whole: State) -> State:
    state = _state(one)
    return whole if whole == "not-applicable" and state == "crashed" else state


def _rank_words(one: RankRecord) -> str:
    if one.result is None and one.ended:
        return f"ended by signal {one.exit_signal}" if one.exit_signal else f"ended with status {one.exit_status}"
    if one.result is None:
        return "no answer" + (f"; was in {innermost_frames(one.stack)}" if innermost_frames(one.stack) else "")
    fault = next(iter(one.result.get("faults", ())), None)
    return f"{fault['name']}: {fault['words']}" if fault else _said(one)
