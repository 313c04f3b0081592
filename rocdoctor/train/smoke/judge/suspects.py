"""Which rank is to blame for a mode that did not end: suspicions in the order of their weight. Pure."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Sequence

from rocdoctor.parsers.formats.text import whole_number
from rocdoctor.parsers.own.smoke_results import Layer
from rocdoctor.train.smoke.judge.last_words import (
    abort_words,
    hardware_fault,
    runtime_fault,
    size_refused,
    waited_in_vain,
)
from rocdoctor.train.smoke.judge.late_rank import innermost_frames, waits
from rocdoctor.train.smoke.judge.rank_words import UNTOLD, kind_of, ranks_text, said, state_of, where_text
from rocdoctor.train.smoke.run.connections import closed
from rocdoctor.train.smoke.run.pool import RankRecord
from rocdoctor.train.smoke.worker.board import MEETING

Suspicion = tuple[list[RankRecord], Layer, str]
_LAYER_OF_KIND: dict[str, Layer] = {
    "memory": "configuration",
    "space": "configuration",
    "limit": "configuration",
    "missing": "configuration",
    "port": "configuration",
    "busy": "configuration",
    "device": "",
    "collective": "collectives",
    "lost-node": "",
}
# Nothing in a rank sends these to itself: who did it, no layer of ours knows.
FROM_OUTSIDE = {
    signal.SIGKILL,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGUSR1,  # as a batch system warns of the end of a job's time
    signal.SIGUSR2,
}
# Those that some ranks may leave while others have not entered them.
_ONE_SIDED = ("broadcast", "gather", "reduce", "scatter", "send", "isend", "recv", "irecv")
# In it, ranks wait for each other without a collective.
_NEW_GROUP = " in new_group"
# What the kernel sends for a limit or a filter (signal(7), getrlimit(2), seccomp(2)).
_BY_THE_KERNEL = {
    signal.SIGBUS: "a full /dev/shm does this",
    signal.SIGXCPU: "its limit of CPU time does this (ulimit -t)",
    signal.SIGXFSZ: "its limit of file size does this (ulimit -f)",
    signal.SIGSYS: "a filter of system calls (seccomp, of a container) does this",
}


def suspicions(broken: Sequence[RankRecord], ranks: Sequence[RankRecord]) -> list[Suspicion]:
    """(ranks, layer, words), the weightiest first; those without ranks do not count.

    ``broken`` are the ranks of ``ranks`` that gave no verdict on numbers.
    """
    gave_up = [one for one in broken if _gave_up(one)]
    lost = (one for one in broken if one.ended and one.result is None and one not in gave_up)
    died = sorted(lost, key=lambda one: (not hardware_fault(one.log), one.ended_at))
    # Where a release lacks something, all that come so far say so. Who says it while others wait has its own error.
    others_wait = not died and any(one.silent or kind_of(one) == "victim" for one in broken)
    not_own = ("victim",) if others_wait else ("victim", "unsupported")
    own = sorted(
        (one for one in broken if one.result is not None and kind_of(one) not in not_own),
        key=lambda one: one.at,
    )
    silent = [one for one in broken if one.silent]
    others = [one for one in broken if one.result is not None and one not in own] + gave_up
    found: list[Suspicion] = []
    mismatch = _mismatch(ranks)
    # Several C++ errors abort a process although its partner is the one that sent something else.
    aborted = bool(died) and died[0].exit_signal == signal.SIGABRT
    if mismatch is not None and (aborted or not died) and not any(kind_of(one) not in ("collective",) for one in own):
        found.append(mismatch)
    if aborted and (words := size_refused(died[0].log)):
        told = f"{ranks_text(died[:1])} got a message of a different size than it expected{where_text(died[0])}"
        if step := _all_others_at(died[0], ranks):
            told += f", and all others were still at '{step}': it left something out"
            found.append((died[:1], "framework", f"{told}: {words}"))
        else:
            members = _group_of(died[0], ranks)
            found.append((members, "framework", f"{told}; {UNTOLD} at which end it is wrong: {words}"))
    if died and not (own and own[0].at < died[0].ended_at):
        found.append(_died(died))
    if own:
        same = [one for one in own if said(one) == said(own[0])]
        layer = "device" if hardware_fault(said(own[0])) else _LAYER_OF_KIND.get(kind_of(own[0]), "framework")
        who = "every rank" if 1 < len(same) == len(ranks) else ranks_text(same)
        found.append((same, layer, f"{who}{where_text(own[0])}: {said(own[0])}"))
    if died:
        found.append(_died(died))
    gone = [one for one in ranks if state_of(one) == "fail"] or [one for one in ranks if state_of(one) == "pass"]
    waiting = [one for one in broken if (one.silent and waits(one.stack)) or kind_of(one) == "victim"] + gave_up
    if all(waits(one.stack) for one in silent):  # else somebody is outside all of them, and the chain ends there
        found += _elsewhere(waiting, ranks)
    if gone and all(waits(one.stack) for one in silent):
        found.append(_went_on(gone))
    found += _each_for_the_other(silent, ranks)
    if one := _without_connections(others, ranks):
        words = f"{ranks_text([one])} has lost its connections to all others, which are still connected to each other"
        words += f", and none had ended{where_text(one)}: its process, or something on the way to it, has closed them"
        found.append(([one], "collectives", f"{words}: {said(others[0])}"))
    if silent and others and _cut_off(silent, others, ranks):
        words = (
            f"{ranks_text(others)} lost a connection{where_text(others[0])} while all others waited, and none had ended"
        )
        found.append((list(ranks), "collectives", f"{words}; {UNTOLD} at which end or on the way: {said(others[0])}"))
    if silent and (others or len(silent) < len(ranks)):
        found.append(_silent(silent, ranks))
    if silent:
        behind = _behind(silent)
        alike = len(behind) == len(ranks) and len({waits(one.stack) for one in silent}) == 1
        # One that computes in C++ for the backward pass has the stack of one that waits there. On a GPU all may.
        computing = [one for one in silent if one.gpu is None and one.process_state == "R"]
        if alike and 0 < len(computing) < len(ranks):
            behind, alike = computing, False
        found.append(_nobody(silent, ranks) if alike else _silent(behind, ranks))
    if others:
        how = said(others[0]) or waited_in_vain(others[0].log)
        words = f"every rank timed out waiting for the others{where_text(others[0])}; {UNTOLD} for which: {how}"
        cut = any("connection reset" in said(one).lower() for one in others) and not any(one.ended for one in ranks)
        if cut:  # a rank that gives up closes its connections, and one that ends does not go unseen
            words += "; no rank had ended, so a firewall, or another program that reached its port, may have cut it"
        found.append((others, "" if cut else "collectives", words))
    return found


def _all_others_at(ahead: RankRecord, ranks: Sequence[RankRecord]) -> str:
    """The step at which all other ranks are, where two or more are at the same and this one is not.

    After an exchange from or to one rank some go on before others, and nobody has left anything out.
    """
    if any(str(one.note.get("call", "")).partition(" ")[0] in _ONE_SIDED or one.note.get("pairs") for one in ranks):
        return ""
    marks = {str(one.note.get("mark", "")) for one in ranks if one is not ahead}
    alone = len(marks) == 1 and len(ranks) > 2 and str(ahead.note.get("mark", "")) not in marks
    return marks.pop() if alone else ""


def _group_of(one: RankRecord, ranks: Sequence[RankRecord]) -> list[RankRecord]:
    """The members of the group of a rank's last collective."""
    members = str(one.note.get("call", "")).partition(" among ")[2]
    numbers = {whole_number(number) for number in members.split(",")}
    return [each for each in ranks if not members or each.rank in numbers]


def _each_for_the_other(silent: Sequence[RankRecord], ranks: Sequence[RankRecord]) -> list[Suspicion]:
    """The one pair of ranks that wait for each other's message, where all others wait as well.

    Whatever the others wait for, these two cannot go on without each other.
    """
    if len(silent) < len(ranks):
        return []
    frames = {one.rank: innermost_frames(one.stack).partition(" < ")[0] for one in silent}
    waiting = {
        one.rank: one.note.get("peer")
        for one in silent
        if waits(one.stack) and frames[one.rank].endswith((" recv", " send"))
    }
    pairs = [(rank, peer) for rank, peer in waiting.items() if peer is not None and rank < peer]
    mutual = [pair for pair in pairs if waiting.get(pair[1]) == pair[0]]
    if len(mutual) != 1 or not all(waits(one.stack) for one in silent):
        return []
    both = [one for one in ranks if one.rank in mutual[0]]
    words = f"{ranks_text(both)} wait for each other's message{where_text(both[0])}, while all others wait too"
    return [(both, "collectives", f"{words}; {UNTOLD} at which end or on the way")]


def _without_connections(others: Sequence[RankRecord], ranks: Sequence[RankRecord]) -> RankRecord | None:
    """The one rank that is connected to nobody any more, while each two of the others still are."""
    if any(one.ended for one in ranks) or not any(closed(said(one)) for one in others):
        return None
    alone = [one for one in ranks if one.connected is not None and not one.connected]
    rest = [one for one in ranks if one not in alone]
    numbers = {one.rank for one in rest}
    whole = all(one.connected is not None and {*one.connected} == numbers - {one.rank} for one in rest)
    told = all(one.silent or closed(said(one)) for one in alone)
    return alone[0] if len(alone) == 1 and whole and told else None


def _cut_off(silent: Sequence[RankRecord], others: Sequence[RankRecord], ranks: Sequence[RankRecord]) -> bool:
    """Whether a connection closed although all ranks are there, and who says nothing waits where it should."""
    cut = any(closed(said(one)) for one in others)
    there = len(silent) + len(others) == len(ranks) and not any(one.ended for one in ranks)
    alike = len({one.note.get("seq") for one in ranks}) == 1
    return cut and there and alike and all(waits(one.stack) for one in silent)


def _gave_up(one: RankRecord) -> bool:
    """A library ended it because others did not come: it is a victim, however it ended."""
    return one.ended and one.result is None and one.exit_signal == signal.SIGABRT and bool(waited_in_vain(one.log))


def _died(died: Sequence[RankRecord]) -> Suspicion:
    first = died[0]
    layer: Layer = "framework"
    if fault := hardware_fault(first.log):
        return [first], "device", f"{ranks_text([first])} was ended by an error of its GPU{where_text(first)}: {fault}"
    later = [one for one in died[1:] if runtime_fault(one.log)]
    if fault := runtime_fault(first.log):
        words = f"the runtime of a GPU ended {ranks_text([first, *later])}{where_text(first)}: {fault}"
        return [first, *later], "", f"{words}; a kernel, a library or the GPU may have made it"
    if later and first.exit_signal not in FROM_OUTSIDE:
        words = f"{ranks_text([first])} ended first{where_text(first)}, then the runtime of a GPU ended "
        words += f"{ranks_text(later)}: {runtime_fault(later[0].log)}"
        return [first, *later], "", f"{words}; it is not clear which made the other, memory of a peer goes with it"
    if first.exit_signal is None:
        how = f"ended with exit status {first.exit_status} before the test was done"
    else:
        name = (
            signal.Signals(first.exit_signal).name if first.exit_signal in list(signal.Signals) else first.exit_signal
        )
        how = f"was ended by signal {first.exit_signal} ({name})"
        if first.exit_signal in FROM_OUTSIDE:
            who = "somebody, a batch system or a service manager"
            if first.exit_signal == signal.SIGKILL:
                who = f"the kernel when memory ran out (sudo dmesg, or memory.events of its cgroup, shows it), or {who}"
            layer, how = "", f"{how} from outside: by {who}"
        elif first.exit_signal in _BY_THE_KERNEL:
            layer, how = "configuration", f"{how}; {_BY_THE_KERNEL[signal.Signals(first.exit_signal)]}"
    last = abort_words(first.log) if first.exit_signal == signal.SIGABRT else ""
    return [first], layer, f"{ranks_text([first])} {how}{where_text(first)}" + (f": {last}" if last else "")


def _silent(silent: Sequence[RankRecord], ranks: Sequence[RankRecord]) -> Suspicion:
    stopped = [one for one in silent if one.process_state in ("T", "t")]
    stuck = [one for one in silent if one.process_state == "D"]
    if stopped:
        return (
            stopped,
            "configuration",
            f"{ranks_text(stopped)} is stopped (a signal or a debugger){where_text(stopped[0])}",
        )
    if stuck:
        words = f"{ranks_text(stuck)} hangs inside the kernel (uninterruptible){where_text(stuck[0])}"
        if all(one.gpu is None for one in stuck):
            return stuck, "configuration", f"{words}: a disk or a network disk does not answer"
        return stuck, "device", words
    # Ranks that wait inside a collective for somebody are victims, as long as another one is elsewhere.
    elsewhere = [one for one in silent if not waits(one.stack)]
    chosen = elsewhere if elsewhere and len(elsewhere) < len(ranks) else _behind(silent)
    if len(chosen) < len(ranks) and all(waits(one.stack) and _NEW_GROUP in one.stack for one in chosen):
        words = f"{ranks_text(chosen)} waited for others in new_group{where_text(chosen[0])}"
        words += f": the ranks do not all make the same groups in the same order; {UNTOLD} which are wrong"
        return list(ranks), "framework", words
    layer: Layer = _layer_of_wait(chosen[0]) if waits(chosen[0].stack) else "framework"
    if chosen[0].program or chosen[0].lock or chosen[0].file_call:
        layer = "configuration"
    words = f"{ranks_text(chosen)} gave no answer{where_text(chosen[0])}{_doing(chosen[0])}"
    return chosen, layer, words


def _layer_of_wait(one: RankRecord) -> Layer:
    """Before the ranks have met nothing was exchanged: addresses or settings that differ keep them apart."""
    return "configuration" if one.note.get("mark") == MEETING else "collectives"


def _doing(one: RankRecord) -> str:
    """What a silent rank was doing at the end, in words."""
    where = innermost_frames(one.stack)
    if one.lock:
        file = " ".join(one.lock.split())[:200]
        return f"; it waited for the lock of {file}, which another process holds (lslocks tells which)"
    if one.file_call:
        words = (
            f"; the kernel has not come back from {one.file_call} for it: a disk or a network disk does not answer, "
        )
        return words + "or the file is a pipe that nobody else has open" + (f" (it was in {where})" if where else "")
    if one.program:
        words = f"; a program that it had started, {one.program}, was still at work: give it more time with --deadline"
        return words + (f" (it waited in {where})" if where else "")
    if where:
        return f"; it {'was computing' if one.process_state == 'R' else 'was'} in {where}"
    if one.process_state in ("R", "S"):
        busy = "computing" if one.process_state == "R" else "waiting"
        return f"; it was {busy} in the code of a library that does not let go of Python's interpreter lock"
    return ""


def _elsewhere(waiting: Sequence[RankRecord], ranks: Sequence[RankRecord]) -> list[Suspicion]:
    """Members of a group of some ranks that are not in the collective in which the others of that group wait."""
    for one in waiting:
        call, _, members = str(one.note.get("call", "")).partition(" among ")
        if not members:
            continue
        numbers = {whole_number(number) for number in members.split(",")}
        away = [
            each
            for each in ranks
            if each.rank in numbers and str(each.note.get("call", "")).partition(" among ")[2] != members
        ]
        if away:
            other = str(away[0].note.get("call", "")) or "no collective"
            words = f"{ranks_text([one])} waits in {call} among ranks {members} for {ranks_text(away)}"
            return [(away, "framework", f"{words}, which entered {other}")]
    return []


def _went_on(gone: Sequence[RankRecord]) -> Suspicion:
    """Ranks that came to the end while all others wait for them: they left something out."""
    fault = next(iter((gone[0].result or {}).get("faults", ())), None)
    where = where_text(gone[0])
    words = f"{ranks_text(gone)} reached the end while the others still waited: it left out a collective{where}"
    return list(gone), "framework", words + (f"; {fault['name']}: {fault['words']}" if fault else "")


def _nobody(silent: Sequence[RankRecord], ranks: Sequence[RankRecord]) -> Suspicion:
    if not waits(silent[0].stack):
        return _silent(silent, ranks)
    alike = len({innermost_frames(one.stack) for one in silent}) == 1
    wait = "all wait in the same place" if alike else "each waits for another"
    words = f"no rank gave an answer{where_text(silent[0])}; {wait}; {UNTOLD} for whom"
    return list(silent), _layer_of_wait(silent[0]), words


def _behind(silent: Sequence[RankRecord]) -> list[RankRecord]:
    """The ranks that entered the fewest collectives; all where some exchanged messages, whose numbers differ anyway."""
    if any(one.note.get("pairs") for one in silent):
        return list(silent)
    least = min(int(one.note.get("seq", 0)) for one in silent)
    return [one for one in silent if int(one.note.get("seq", 0)) == least]


# Collectives whose tensors have the same sizes on all ranks; others may differ.
_EQUAL_SIZES = (
    "all_gather_into_tensor",
    "all_gather_single",
    "all_reduce",
    "broadcast",
    "reduce",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
)


def _mismatch(ranks: Sequence[RankRecord]) -> Suspicion | None:
    """Ranks whose last collective is another one than that of most ranks of the same group."""
    groups: dict[str, list[RankRecord]] = {}
    for one in ranks:
        groups.setdefault(str(one.note.get("call", "")).partition(" among ")[2], []).append(one)
    return next(filter(None, map(_mismatch_within, groups.values())), None)


def _mismatch_within(ranks: Sequence[RankRecord]) -> Suspicion | None:
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
        marks = {str(one.note.get("mark", "")) for one in ranks}
        # Ranks at different steps each make what they announced, and one of them has left something out.
        alone = [one for one in ranks if not _announced(one) and len(marks) == 1] or list(ranks)
    number = numbers.pop()
    words = "; ".join(f"rank {rank} entered {call}" for rank, call in sorted(calls.items())[:4])
    if len(alone) == len(ranks):
        words += f"; {UNTOLD} which of them is wrong"
    return (
        alone,
        "framework",
        f"the ranks entered different collectives as number {number}{where_text(ranks[0])}: {words}",
    )


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
