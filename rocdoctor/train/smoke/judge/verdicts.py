"""From what each rank left behind to one verdict: which rank, which layer, in which words. Pure.

The order of suspicion: a rank that died by itself; one that failed by an error of its own; one that says nothing while
others wait for it; ranks that entered different collectives; wrong numbers, where the earliest stage of a step decides.
Ranks that merely lost another rank, or waited for one in vain, are victims and never named.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast, get_args

from rocdoctor.parsers.own.smoke_results import Layer, ModeResult, RankResult, State
from rocdoctor.train.smoke.judge.late_rank import innermost_frames
from rocdoctor.train.smoke.judge.layers import OWN, SAME_PARTS, Seen, layer_of
from rocdoctor.train.smoke.judge.rank_words import UNTOLD, kind_of, ranks_text, said, state_of
from rocdoctor.train.smoke.judge.references import odd_references
from rocdoctor.train.smoke.judge.slow_gpus import slow_gpus
from rocdoctor.train.smoke.judge.suspects import FROM_OUTSIDE, suspicions
from rocdoctor.train.smoke.run.pool import ModeRecord, RankRecord
from rocdoctor.train.smoke.worker.compare import closeness, order_of

_STAGE_WORDS = {
    "input": "the input of",
    "before": "before",
    "local": "this rank's own part of",
    "value": "the result of",
    "loss": "the loss of",
    "grad": "the gradients of",
    "param": "the parameters after",
}


def judge(record: ModeRecord) -> ModeResult:
    """The verdict over one mode."""
    ranks = record.ranks
    states = [state_of(one) for one in ranks]
    odd = [] if "crashed" in states else odd_references(ranks)
    if odd:
        return _odd(record, odd)
    if all(state == "pass" for state in states):
        late = [one for one in ranks if one.late_s]
        return _late(record, late) if late else _result(record, "pass", slow_gpus(ranks))
    if "crashed" in states:
        return _crashed(record)
    if "fail" in states:
        return _wrong(record)
    first = next(one for one, state in zip(ranks, states, strict=True) if state != "pass")
    return _result(record, "not-applicable", said(first))


def alike_everywhere(record: ModeRecord) -> str:
    """The stage where all ranks, of several, have the same first fault, in the whole of a tensor; empty: nowhere.

    A few values may have been spoilt on a way, once, and been handed to all.
    """
    many = [(one.result or {}).get("faults") or () for one in record.ranks]
    if len(many) < 2 or not all(many):
        return ""
    first = [min(faults, key=order_of) for faults in many]
    same = len({(one["stage"], one["name"]) for one in first}) == 1 and all(one.get("whole") for one in first)
    return str(first[0]["stage"]) if same else ""


def _odd(record: ModeRecord, odd: Sequence[RankRecord]) -> ModeResult:
    """What ranks compare with must be equal everywhere: nothing else can be judged before."""
    words = "the reference (double precision on the CPU, the same on every rank) differs"
    drawing = [one for one in record.ranks if (one.result or {}).get("draws_otherwise")]
    if 0 < len(drawing) < len(record.ranks):
        told = f"{ranks_text(drawing)}: gets different random numbers from a seed than the standard generator"
        words = f"{told}: something in this process changes seeds or draws, so its model and its data differ"
        return _result(record, "fail", words, "framework", [one.rank for one in drawing])
    if len(odd) == len(record.ranks):
        words += f" between the ranks: one of the processors computes wrongly; {UNTOLD} which"
    else:
        words += " from that of the other ranks: its processor or memory is at fault"
    return _result(record, "fail", f"{ranks_text(odd)}: {words}", "device", [one.rank for one in odd])


def _late(record: ModeRecord, late: Sequence[RankRecord]) -> ModeResult:
    """Right numbers, but a rank did nothing for seconds while all others waited for it."""
    words = (
        f"{ranks_text(late)} kept the others waiting for {max(one.late_s for one in late):.0f} s without doing anything"
    )
    where = f", in {late[0].late_in}" if late[0].late_in else ""
    return _result(record, "fail", words + where, "configuration", [one.rank for one in late])


def _crashed(record: ModeRecord) -> ModeResult:
    ranks = record.ranks
    if record.server:
        words = f"the process that starts the ranks and speaks with them {record.server}"
        return _result(record, "crashed", words + (f": {record.machine}" if record.machine else ""), _layer_of(record))
    if record.machine and not any(one.exit_signal == signal.SIGKILL for one in ranks):
        crashed = [one for one in ranks if state_of(one) == "crashed"]
        lost = next((one for one in crashed if kind_of(one) != "victim"), crashed[0])
        how = said(lost) or _end_of(lost)
        words = f"{record.machine}; {ranks_text([lost])}: {how}"
        met = [one.rank for one in crashed if kind_of(one) in ("limit", "memory", "space")]
        return _result(record, "crashed", words, "configuration", met if len(met) < len(ranks) else ())
    broken = [one for one in ranks if state_of(one) == "crashed"]
    if (
        broken
        and all(kind_of(one) == "unsupported" for one in broken if one.result is not None)
        and not any(one.result is None for one in broken)
    ):
        return _result(record, "not-applicable", f"not supported here: {said(broken[0])}")
    found = suspicions(broken, ranks)
    wrong = [one for one in ranks if _own_fault(one)[0]]
    if 0 < len(wrong) < len(ranks) and not any(one.exit_signal in FROM_OUTSIDE for one in ranks):
        stage, what, own_layer = _own_fault(wrong[0])
        words = f"{ranks_text(wrong)}: {_STAGE_WORDS[stage]} {what}"
        how = next((told for suspects, _, told in found if suspects), "")
        found.insert(0, (wrong, _as_layer(own_layer), f"{words}; then {how}" if how else words))
    for suspects, layer, words in found:
        if suspects:
            if record.machine:
                layer, words = "configuration", f"{words}; {record.machine}"
            return _result(record, "crashed", words, layer, [one.rank for one in suspects])
    return _result(record, "crashed", "the test ended without an answer", "framework")


def _own_fault(one: RankRecord) -> tuple[str, str, str]:
    """(stage, words, layer) of what this rank found wrong of its own before the mode ended; empty texts: nothing."""
    told = one.note.get("fault")
    if not (isinstance(told, list) and len(told) == 3 and all(isinstance(part, str) for part in told)):
        return ("", "", "")
    return (told[0], told[1], told[2]) if told[0] in _STAGE_WORDS else ("", "", "")


def _as_layer(told: str) -> Layer:
    return cast(Layer, told) if told in get_args(Layer) and told else "device"


def _end_of(one: RankRecord) -> str:
    if one.exit_signal is not None:
        return f"ended by signal {one.exit_signal}"
    return f"exit status {one.exit_status}" if one.ended else "no answer"


def _layer_of(record: ModeRecord) -> Layer:
    return "configuration" if record.machine else ""


def _wrong(record: ModeRecord) -> ModeResult:
    """Wrong numbers: the earliest stage in which any rank differs names the ranks that differ there."""
    bad = [one for one in record.ranks if (one.result or {}).get("faults")]
    first = {one.rank: min(order_of(fault) for fault in one.result["faults"]) for one in bad if one.result is not None}
    earliest = min(first.values())
    named = [one for one in bad if first[one.rank] == earliest]
    shown = named[0]
    assert shown.result is not None
    # Of several at one place the one that knows its layer tells most.
    fault = min(shown.result["faults"], key=lambda one: (order_of(one), not one.get("layer")))
    step, stage = int(fault["step"]), str(fault["stage"])
    everyone = len(named) == len(record.ranks)
    layer, since = layer_of(_seen(record, named, fault))
    who = "every rank" if everyone and len(named) > 1 else ranks_text(named)
    words = f"{_STAGE_WORDS[stage]} step {step}, {fault['name']}: {fault['words']}"
    words += f"; {since}" if since else ""
    alone = _wrong_by_themselves(record) if stage not in OWN and (everyone or not fault.get("layer")) else []
    if alone:  # what they gave spoilt what came
        told = f"{ranks_text(alone)} computes its part wrongly by itself; {who}"
        return _result(record, "fail", f"{told}: {words}", "device", [one.rank for one in alone], step)
    pairs = _pairs(record, named, earliest)
    if pairs:
        return _between(record, pairs, words, step)
    if not everyone and all(one.get("summed") for one in _faults(named, earliest)):
        told = f"a part of a sum over all ranks is wrong at {ranks_text(named)}; {UNTOLD} whose share"
        words = f"{told}: {words}"
        return _result(record, "fail", words, "collectives", [one.rank for one in record.ranks], step)
    if any(one.get("reduced") for one in _faults(named, earliest)):
        return _reduced(record, named, earliest, words, step)
    origin = _origin(named, earliest)
    total, alike = (all(one.get(key) for one in _faults(named, earliest)) for key in ("total", "alike"))
    if len(named) == 1 and (total or (alike and len(record.ranks) > 2)):
        origin = None  # all others got the same right, so it was right when it was sent
    if origin is None and stage not in OWN and _most_alike(record, named, earliest):
        words = f"the same wrong values are at most ranks; {UNTOLD} who gave them: {ranks_text(named)}: {words}"
        return _result(record, "fail", words, layer, [one.rank for one in record.ranks], step)
    if origin is not None and [one.rank for one in named] != [origin]:
        whose = ranks_text([one for one in record.ranks if one.rank == origin])
        at = f"{'every rank' if everyone else ranks_text(named)}"
        if len(named) == 1:
            at += f"; {UNTOLD} at which end or on the way"
        words = f"what {whose} sent is wrong at {at}: {words}"
        accused = {origin} if len(named) > 1 else {origin, named[0].rank}
        return _result(record, "fail", words, layer, sorted(accused), step)
    return _result(record, "fail", f"{who}: {words}", layer, [one.rank for one in named], step)


def _wrong_by_themselves(record: ModeRecord) -> list[RankRecord]:
    """Some of the ranks, whose part of the model is wrong with nothing around it."""
    found = [one for one, told in zip(record.ranks, record.again, strict=False) if not told["work"]]
    return found if len(found) < len(record.ranks) else []


def _seen(record: ModeRecord, named: Sequence[RankRecord], fault: Mapping[str, Any]) -> Seen:
    """The evidence for the layer of the first fault."""
    places = {one.rank: number for number, one in enumerate(record.ranks)}
    mine = [record.again[places[one.rank]] for one in named] if record.again else []
    work = all(one["work"] for one in mine) if mine else None
    exchanges = not any(one["exchanges"] for one in record.again) if record.again else None
    same = record.mode in SAME_PARTS
    return Seen(
        stage=str(fault["stage"]),
        step=int(fault["step"]),
        everyone=len(named) == len(record.ranks),
        several=len(record.ranks) > 1,
        on_gpus=any(one.gpu for one in record.ranks),
        told=str(fault.get("layer", "")),
        whole=bool(fault.get("whole")),
        every=bool(fault.get("every")),
        work=work if same or not work else None,
        exchanges=exchanges if same or not exchanges else None,
    )


def _reduced(
    record: ModeRecord, named: Sequence[RankRecord], earliest: tuple[int, int, int], words: str, step: int
) -> ModeResult:
    """Sums that one rank alone gets, each rank in its turn: who receives wrongly does so alone, and what one rank gives
    wrongly is wrong at all others. A rank whose own part explains the error of a sum it gets is at fault itself."""
    if all(fault.get("origins") == [one.rank] for one in named for fault in _faults([one], earliest)):
        told = f"{ranks_text(named)} adds its own part wrongly to a sum that it gets"
        return _result(record, "fail", f"{told}: {words}", "collectives", [one.rank for one in named], step)
    rest = [one for one in record.ranks if one not in named]
    who, said = (
        list(record.ranks),
        f"a sum of all ranks is wrong at {ranks_text(named)}; {UNTOLD} who gave or received it",
    )
    if len(record.ranks) > 2 and len(named) == 1:
        who, said = list(named), f"{ranks_text(named)} alone gets a wrong sum"
    elif len(record.ranks) > 2 and len(rest) == 1:
        who, said = rest, f"what {ranks_text(rest)} contributes is wrong at all others"
    return _result(record, "fail", f"{said}: {words}", "collectives", [one.rank for one in who], step)


def _most_alike(record: ModeRecord, named: Sequence[RankRecord], earliest: tuple[int, int, int]) -> bool:
    """Whether more than half of the ranks, not all, have the same wrong value of one thing: then who is right may be
    who gave it. What each rank makes by itself is not given, and a comparison that knows its layer says so."""
    if not len(named) < len(record.ranks) < 2 * len(named):
        return False
    first = [{(one["name"], one["words"], one.get("layer", "")) for one in _faults([each], earliest)} for each in named]
    return all(one == first[0] for one in first) and all(not layer for _, _, layer in first[0])


def _faults(named: Sequence[RankRecord], earliest: tuple[int, int, int]) -> list[dict[str, Any]]:
    return [one for each in named for one in (each.result or {}).get("faults", ()) if order_of(one) == earliest]


def _pairs(
    record: ModeRecord, named: Sequence[RankRecord], earliest: tuple[int, int, int]
) -> list[tuple[RankRecord, ...]]:
    """The pairs of ranks between which it was wrong, where faults tell such."""
    found = sorted({tuple(sorted(set(one.get("between", ())))) for one in _faults(named, earliest)})
    of_rank = {one.rank: one for one in record.ranks}
    return [tuple(of_rank[rank] for rank in pair) for pair in found if len(pair) == 2 and set(pair) <= set(of_rank)]


def _between(record: ModeRecord, pairs: Sequence[tuple[RankRecord, ...]], words: str, step: int) -> ModeResult:
    """One end is at fault where it is in all of several pairs; of one pair it may be either, or the way between."""
    common = [one for one in pairs[0] if all(one in pair for pair in pairs)]
    if len(pairs) == 1:
        said = f"between {ranks_text(common)}; {UNTOLD} at which end or on the way: {words}"
    elif common:
        said = f"{ranks_text(common)} is in all {len(pairs)} pairs of GPUs between which it is wrong: {words}"
    else:
        shown = "; ".join(ranks_text(pair) for pair in pairs[:4]) + (" ..." if len(pairs) > 4 else "")
        said = f"between {len(pairs)} pairs of GPUs, none of which is in all of them: {shown}: {words}"
    return _result(record, "fail", said, "link", [one.rank for one in common], step)


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
    owners = ranks_text([one for one in record.ranks if one.rank in suspects])
    if len(suspects) > 1:
        words = f"what {owners} contribute arrives wrong at every rank; {UNTOLD} who spoils it; {found.message}"
        ranks = tuple(replace(one, named=False) for one in found.ranks)
        return replace(found, ranks=ranks, message=words[:600])
    words = f"what {owners} contributes arrives wrong at every rank; {found.message}"
    computing = [set((one.result or {}).get("facts", {}).get("computing", ())) for one in record.ranks]
    layer: Layer = "device" if suspects <= set.intersection(*computing) else "collectives"
    return replace(found, ranks=ranks, layer=layer, message=words[:600])


def _result(
    record: ModeRecord, state: State, words: str, layer: Layer = "", named: Sequence[int] = (), step: int | None = None
) -> ModeResult:
    if len({*named}) == len(record.ranks) > 1 and UNTOLD in words:
        named = ()  # all of them may be it: to name all accuses each
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
    state = state_of(one)
    return whole if whole == "not-applicable" and state == "crashed" else state


def _rank_words(one: RankRecord) -> str:
    if one.result is None and one.ended:
        return f"ended by signal {one.exit_signal}" if one.exit_signal else f"ended with status {one.exit_status}"
    if one.result is None:
        return "no answer" + (f"; was in {innermost_frames(one.stack)}" if innermost_frames(one.stack) else "")
    fault = next(iter(one.result.get("faults", ())), None)
    return f"{fault['name']}: {fault['words']}" if fault else said(one)
