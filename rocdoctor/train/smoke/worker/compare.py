"""Comparison of what a rank computed with what one process computes, and what a difference looks like.

Every comparison has a stage; the earliest stage at which a rank differs is where its fault came in, and ranks that
differ only later have caught it from others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from .stepped import common_fault
from .tolerance import FP32, Tolerance

# In the order in which data flows through one training step.
STAGES = ("input", "before", "local", "value", "loss", "grad", "param")
# Where in a step a comparison stands unless it says so itself: modes that pass data on from layer to layer or from rank
# to rank give the turn, since a later "local" follows from an earlier "value" there.
LOSS_TURN, BACKWARD_TURN, END_TURN = 1_000_000, 2_000_000, 3_000_000
_TURNS = {"loss": LOSS_TURN, "grad": BACKWARD_TURN, "param": END_TURN}
_MAX_KEPT = 6
# What a tensor may turn out to be that is compared by its name.
_ANOTHERS = "what belongs to"
_OF_ANOTHER = f"it equals {_ANOTHERS} "
_MULTIPLE = "it is "
_OTHERWISE = ("it equals ", _MULTIPLE)
_ROUNDED = "it is rounded to "
_REORDERED = "it has the expected values in another order"
# Disks lose values and turn bits over; who writes or reads decides types, order and factors.
_BY_CODE = (*_OTHERWISE, _ROUNDED, _REORDERED)
_TENSORS = 3  # fewer are no rule
_WHOLE = 0.99  # of the values: some are right by chance
_LARGEST_FACTOR = float(1 << 24)


class ModeComparisons:
    """All comparisons of one mode on one rank."""

    def __init__(
        self, torch: Any, factor: float = 1.0, told: Callable[[str, str, str], None] = lambda *_: None
    ) -> None:
        self._torch = torch
        self._factor = factor
        self._told = told
        # Each comparison is of one operation: what a kernel gives may be twice the tensor, or another one.
        self.of_kernels = False
        self._step: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None  # the last one: before and after it
        self._whole = False  # whether the last that differed did so in the whole of the tensor
        self.errors: dict[str, float] = {}
        self.tolerances: dict[str, float] = {}
        self.faults: list[dict[str, Any]] = []
        self.count = 0

    def limit(self, stage: str | Tolerance) -> float:
        """A tolerance on this device; of a stage that which holds where nothing else is said, as a share."""
        allowed = stage if isinstance(stage, Tolerance) else FP32[stage]
        return float(allowed) * (self._factor if allowed.scaled else 1.0)

    def check(
        self,
        stage: str,
        name: str,
        got: Any,
        wanted: Any,
        *,
        step: int = 0,
        tolerance: float | None = None,
        scale: float | None = None,
        hints: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None,
        turn: int | None = None,
        owners: Any = None,
        layer: str = "",
        between: Sequence[int] = (),
        summed: bool = False,
        reduced: bool = False,
        whole_layer: str = "",
    ) -> bool:
        """Compare one tensor (or number) and note the difference.

        ``tolerance`` is a share of ``scale``, by default of the largest absolute expected value; zero means that all
        values are equal. ``hints``: what a wrong tensor may turn out to be, by words, or what gives that. ``turn`` is
        the place in the order in which data flows through the step. ``owners`` tells which rank each element came from,
        in a shape that broadcasts to the tensor's: then a fault says whose elements are wrong. ``layer``: where a
        difference lies, where the stage alone would not tell. ``between``: two ranks, either of which may be at fault.
        ``whole_layer``: the same where no value is right. ``summed``: as in ``check_all``. ``reduced``: a sum that this
        rank alone gets, and each other one in its turn.
        """
        torch = self._torch
        limit_share = self.limit(stage) if tolerance is None else tolerance
        if limit_share == 0.0 and self._equal(got, wanted):  # without a copy: such tensors may be large
            self.count += 1
            self.errors.setdefault(stage, 0.0)
            self.tolerances.setdefault(stage, 0.0)
            return True
        got, wanted = _plain(torch, got), _plain(torch, wanted)
        self.count += 1
        if got.shape != wanted.shape:
            self._fault(
                stage,
                step,
                turn,
                name,
                math.inf,
                0.0,
                f"has shape {[*got.shape]} instead of {[*wanted.shape]}",
                layer="framework",
            )
            return False
        if not wanted.numel():
            return True
        size = float(wanted.abs().nan_to_num(0.0, math.inf).max()) if scale is None else scale
        limit = limit_share * size
        difference = (got - wanted).abs()
        error = float(difference.max())
        if not math.isfinite(error):
            difference[got.isnan() & wanted.isnan()] = 0.0
            error = float(difference.max())
        if not math.isfinite(error):
            same = bool(((got == wanted) | (got.isnan() & wanted.isnan())).all())
            error = 0.0 if same else math.inf
        if stage not in self.errors or closeness(error, limit) > closeness(self.errors[stage], self.tolerances[stage]):
            self.errors[stage], self.tolerances[stage] = error, limit
        if error <= limit:
            return True
        alike = _alike(torch, got, wanted, limit, (hints() if callable(hints) else hints) or {})
        words = _words(torch, got, wanted, difference, limit) + (f"; {alike}" if alike else "")
        bad = ~(difference <= limit)
        origins = [] if owners is None else owners.expand(bad.shape)[bad].unique().tolist()
        if layer == "configuration" and alike.startswith(_BY_CODE):
            layer = "framework"
        elif alike.startswith(_BY_CODE) and bad.numel() > 1 and stage in ("input", "local") and not self.of_kernels:
            layer = layer or "framework"  # a device that computes wrongly gives no other tensor, nor twice all of them
        elif alike.startswith(_OF_ANOTHER) and stage != "value":
            layer = layer or "framework"  # an exchange knows no names, but may deliver what came before
        large = bad[wanted.abs() > 64 * limit]  # of smaller ones a wrong factor changes too little
        whole = bad.numel() > 1 and (bool(alike) or (large.numel() > 1 and float(large.double().mean()) >= _WHOLE))
        if (stage, step, layer, whole) == ("before", 0, "device", True):
            layer = "framework"  # handed out wrongly: what turns over in memory is a bit
        layer, self._whole = (whole_layer or layer) if whole else layer, whole
        self._fault(stage, step, turn, name, error, limit, words, origins, layer, between, summed, whole, reduced)
        return False

    def _equal(self, got: Any, wanted: Any) -> bool:
        tensors = isinstance(got, self._torch.Tensor) and isinstance(wanted, self._torch.Tensor)
        return tensors and got.dtype == wanted.dtype and got.device == wanted.device and self._torch.equal(got, wanted)

    def check_all(
        self,
        stage: str,
        got: Mapping[str, Any],
        wanted: Mapping[str, Any],
        *,
        step: int = 0,
        tolerance: float | None = None,
        hints: Mapping[str, Mapping[str, Any] | Callable[[], Mapping[str, Any]]] | None = None,
        turns: Mapping[str, int] | None = None,
        turn: int | None = None,
        owners: Mapping[str, Any] | None = None,
        layer: str | Mapping[str, str] = "",
        summed: bool = False,
        moved_from: Mapping[str, Any] | None = None,
        whole_layer: str = "",
    ) -> None:
        """Compare tensors by name; the tolerance is a share of the largest expected value among all of them.

        ``turns``: the turn of each name, where the order among them tells something; ``turn``: that of all others.
        ``summed``: this rank alone holds these sums over all ranks, so a wrong one may be the fault of any. Of
        ``hints`` one may also be a function that gives the tensors, which is called where something differs.
        ``layer``: of all tensors, or by name. ``moved_from``: what they were before a step, which tells one that is too
        long or too short everywhere: a rate, not a kernel.
        """
        layers = dict.fromkeys(wanted, layer) if isinstance(layer, str) else layer
        missing, known = sorted(set(wanted) - set(got)), {id(one) for one in self.faults}
        if missing:
            self._fault(
                stage,
                step,
                (turns or {}).get(missing[0], turn),
                missing[0],
                math.inf,
                0.0,
                "is missing",
                layer="framework",  # no arithmetic, and no way, leaves out a whole tensor
            )
        right, whole = 0, 0
        exact = tolerance == 0.0  # of nothing
        largest = [float(_plain(self._torch, one).abs().max()) for one in wanted.values() if one.numel() and not exact]
        scale = max(largest, default=0.0)
        for name in wanted:
            if name in got:
                fine = self.check(
                    stage,
                    name,
                    got[name],
                    wanted[name],
                    step=step,
                    tolerance=tolerance,
                    scale=scale,
                    hints=partial(_hints, hints or {}, wanted, name),
                    turn=(turns or {}).get(name, turn),
                    owners=(owners or {}).get(name),
                    layer=layers.get(name, ""),
                    summed=summed,
                    whole_layer=whole_layer,
                )
                whole += not fine and self._whole
                right += fine and bool(wanted[name].numel()) and bool((wanted[name] != 0).any())
        if right and stage in ("input", "local"):  # one kernel may well give twice its result, and all others the right
            self._may_be_a_kernel([name for name in wanted if not layers.get(name) and not whole_layer], known)
        if whole >= _TENSORS and not right:
            for one in self.faults:  # no bit and no single message does that
                if (one["stage"], one["step"]) == (stage, step) and one["name"] in wanted:
                    one["every"] = True
                    if stage == "param" and one.get("layer") == "device":
                        one["layer"] = "framework"
        if moved_from is not None:
            self.weigh_steps(got, moved_from, wanted, step)

    def weigh_steps(
        self, got: Mapping[str, Any], before: Mapping[str, Any], wanted: Mapping[str, Any], step: int
    ) -> None:
        """Lay wrong parameters to what decides about the step, where all steps are wrong, or miss the same share."""
        found = [one for one in self.faults if (one["stage"], one["step"]) == ("param", step) and one["name"] in wanted]
        names = [name for name in wanted if name in got and got[name].shape == before[name].shape]
        last, self._step = self._step, (before, wanted)
        if not found or len(names) < 2:
            return
        held, right, made = ([_plain(self._torch, many[name]) for name in names] for many in (before, wanted, got))
        pairs = [(one - start, other - start) for one, other, start in zip(made, right, held)]
        known = {"the parameters": held}
        if last is not None and all(name in last[0] for name in names):
            ends, starts = ([_plain(self._torch, many[name]) for name in names] for many in (last[1], last[0]))
            known["the step before"] = [end - start for end, start in zip(ends, starts)]
        if words := common_fault(self._torch, pairs, known, float(found[0]["tolerance"])):
            for one in found:
                one["layer"], one["words"] = "framework", f"{one['words']}; {words}"[:400]

    def _may_be_a_kernel(self, names: Collection[str], known: Collection[int]) -> None:
        for fault in self.faults:
            here = id(fault) not in known and fault["name"] in names
            if here and f"; {_MULTIPLE}" in fault["words"]:
                fault.pop("layer", None)

    def expect(
        self,
        stage: str,
        name: str,
        holds: bool,
        words: str,
        *,
        step: int = 0,
        turn: int | None = None,
        layer: str = "",
    ) -> bool:
        """Note a fault unless ``holds``; ``words`` complete the sentence that begins with the name.

        ``layer``: where such a fault lies, where the stage alone would not tell.
        """
        self.count += 1
        if not holds:
            self._fault(stage, step, turn, name, math.inf, 0.0, words, layer=layer)
        return holds

    def _fault(
        self,
        stage: str,
        step: int,
        turn: int | None,
        name: str,
        error: float,
        limit: float,
        words: str,
        origins: Sequence[int] = (),
        layer: str = "",
        between: Sequence[int] = (),
        summed: bool = False,
        whole: bool = False,
        reduced: bool = False,
    ) -> None:
        turn = _TURNS.get(stage, 0) if turn is None else turn
        if len(self.faults) >= _MAX_KEPT and (step, turn, STAGES.index(stage)) >= max(map(order_of, self.faults)):
            return
        shown = None if math.isinf(error) else error
        place = {"stage": stage, "step": step, "turn": turn}
        more: dict[str, Any] = {"origins": [*origins]} if origins else {}
        if layer:
            more["layer"] = layer
        if between:
            more["between"] = [*between]
        if summed:
            more["summed"] = True
        if reduced:
            more["reduced"] = True
        if whole:
            more["whole"] = True  # not a few of its values: no bit turned over on a way
        self.faults.append({**place, "name": name, "error": shown, "tolerance": limit, "words": words[:400], **more})
        self.faults.sort(key=order_of)
        if stage in ("input", "local") and self.faults[0]["stage"] in ("input", "local"):
            self._told(stage, f"{name}: {words}", layer)
        del self.faults[_MAX_KEPT:]


def closeness(error: float, limit: float) -> float:
    """How much of the allowed difference is used; above 1 is too much."""
    return error / limit if limit else (math.inf if error else 0.0)


def order_of(fault: Mapping[str, Any]) -> tuple[int, int, int]:
    """Where a fault stands in the flow of data."""
    return int(fault["step"]), int(fault["turn"]), STAGES.index(fault["stage"])


def agreed(torch: Any, many: Sequence[Any]) -> Any:
    """What more than half of the ranks hold, which alone tells who is wrong; None without that, as of two ranks."""
    return next((one for one in many if 2 * sum(torch.equal(one, other) for other in many) > len(many)), None)


def _hints(hints: Mapping[str, Any], wanted: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What else a tensor may be: one of that name, or of that shape."""
    found = {words: partial(_of_name, many, name) for words, many in hints.items()}
    same = (other for other, one in wanted.items() if other != name and one.shape == wanted[name].shape)
    return {**found, **{f"{_ANOTHERS} {other}": partial(_of_name, wanted, other) for other in same}}


def _of_name(many: Mapping[str, Any] | Callable[[], Mapping[str, Any]], name: str) -> Any:
    """The tensor of that name; None where there is none."""
    return (many() if callable(many) else many).get(name)


def _plain(torch: Any, value: Any) -> Any:
    """A tensor in double precision on the CPU."""
    if not isinstance(value, torch.Tensor):
        return torch.as_tensor(value, dtype=torch.float64)
    return value.detach().to("cpu").to(torch.float64)


def _words(torch: Any, got: Any, wanted: Any, difference: Any, limit: float) -> str:
    """What a wrong tensor looks like: where it differs and by how much."""
    bad = ~(difference <= limit)
    count, total = int(bad.sum()), int(bad.numel())
    flat = int(torch.where(difference.isnan(), torch.full_like(difference, math.inf), difference).argmax())
    index = []
    for size in reversed(got.shape):
        index.append(flat % size)
        flat //= size
    place = tuple(reversed(index))
    at = f" at {list(place)}" if place else ""
    words = f"expected {float(wanted[place]):.6g}{at}, got {float(got[place]):.6g}"
    if total > 1:
        words += f"; {count} of {total} values differ"
    return words


def _alike(torch: Any, got: Any, wanted: Any, limit: float, hints: Mapping[str, Any]) -> str:
    """What a wrong tensor is instead, in words; empty when it is nothing known."""
    if not float(wanted.abs().max()):
        return ""
    if not float(got.abs().max()):
        return "all values are zero"
    for words, hint in hints.items():
        other: Any = hint() if callable(hint) else hint
        if other is None or other.shape != got.shape:
            continue
        other = _plain(torch, other)
        # Where it is near what is expected, a small error may bring either nearer.
        if float((other - wanted).abs().max()) > 16 * limit and float((got - other).abs().max()) <= 4 * limit:
            return f"it equals {words}"
    ratio = float((got * wanted).sum() / (wanted * wanted).sum())
    whole = _plain_factor(ratio)
    if whole and float((got - whole * wanted).abs().max()) <= 4 * limit * max(1.0, abs(whole)):
        times = f"{whole:g} times" if abs(whole) > 1 else f"1/{round(1 / whole)} of"
        if abs(whole) != 1.0:
            return f"{_MULTIPLE}{times} the expected tensor"
    if abs(ratio - 1) > 0.1 and float((got - ratio * wanted).abs().max()) <= 4 * limit * max(1.0, abs(ratio)):
        return f"all values are {ratio:.3g} times what is expected"
    return _as_stored(torch, got, wanted)


def _plain_factor(ratio: float) -> float:
    """The whole number, its inverse or the power of two near a ratio; zero where there is none."""
    if not 1 / _LARGEST_FACTOR <= abs(ratio) <= _LARGEST_FACTOR:  # also what is no number
        return 0.0
    if abs(ratio) >= 1.5:
        return float(round(ratio))
    if 0.01 < abs(ratio) < 0.7:
        return 1 / round(1 / ratio)
    small = 2.0 ** round(math.log2(abs(ratio)))  # scales of losses are powers of two
    return math.copysign(small, ratio) if small < 0.01 else 0.0


def _as_stored(torch: Any, got: Any, wanted: Any) -> str:
    """What becomes of numbers in a shorter type, or in another order; empty when it is neither."""
    for kind in (torch.bfloat16, torch.float16) if got.unique().numel() > 8 else ():
        if torch.equal(got, wanted.to(torch.float32).to(kind).to(got.dtype)):
            return _ROUNDED + str(kind).replace("torch.", "")
    if torch.equal(got.flatten().sort().values, wanted.flatten().sort().values):
        return _REORDERED
    return ""
