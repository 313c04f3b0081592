"""What is allowed between what a rank computed and what was expected, each number with its reason, and what a mode
compares with: ``smoke --explain`` reads the constants that the comparisons use."""

from __future__ import annotations

# A GPU adds in another order than one process does with other shapes.
GPU_FACTOR = 4.0


class Tolerance(float):
    """A number to compare by. ``of``: what it is allowed of; ``unit``: what the number counts; ``why``: its reason.

    ``scaled``: on GPUs ``GPU_FACTOR`` times as much is allowed.
    """

    __slots__ = ("of", "scaled", "unit", "why")

    of: str
    unit: str
    why: str
    scaled: bool

    def __new__(
        cls, value: float, of: str, why: str, *, unit: str = "of the largest expected value", scaled: bool = False
    ) -> Tolerance:
        made = super().__new__(cls, value)
        made.of, made.why, made.unit, made.scaled = of, why, unit, scaled
        return made

    def times(self, factor: float, of: str, why: str) -> Tolerance:
        """A multiple of it, for something else."""
        return Tolerance(self * factor, of, why, unit=self.unit, scaled=self.scaled)


class Proof:
    """What a mode shows: what is ``computed``, ``against`` which reference, and what may differ."""

    __slots__ = ("against", "computed", "tolerances")

    def __init__(self, computed: str, against: str, tolerances: tuple[Tolerance, ...]) -> None:
        self.computed = computed
        self.against = against
        self.tolerances = tolerances

    def but(self, *tolerances: Tolerance, computed: str = "", against: str = "") -> Proof:
        """The same with further tolerances, or other words."""
        return Proof(computed or self.computed, against or self.against, (*self.tolerances, *tolerances))


# Measured with torch 2.13.0, gloo, 2 and 4 ranks, model of 58,560 parameters; what was seen is the largest of all modes
# that train in fp32 (2026-11-24).
_FLIPPED = "one flipped bit (bit 20) of one gradient makes a difference of 1.7e-4"
EXACT = Tolerance(
    0.0,
    "numbers that are only copied, and whole numbers",
    "copying rounds nothing, and sums of small whole numbers are exact",
)
# By stage, where a comparison says nothing else. Of the set of tensors that are compared together.
FP32 = {
    "input": Tolerance(0.0, "the rows of data that a rank gets", "they are handed out, not computed"),
    "before": Tolerance(
        5e-7,
        "parameters before a step (before the first step, no difference at all)",
        "they carry the rounding of the previous step: 6e-8 was seen",
        scaled=True,
    ),
    "local": Tolerance(
        2e-5,
        "what a rank computes by itself",
        f"fp32 rounds each operation by up to 6e-8; 6e-7 was seen, and {_FLIPPED}",
        scaled=True,
    ),
    "value": Tolerance(
        2e-5,
        "what ranks get from each other",
        "it was computed in fp32 before it was sent, so the limit is that of what a rank computes by itself",
        scaled=True,
    ),
    "loss": Tolerance(
        5e-6,
        "the loss",
        "one mean over all tokens, added in a different order than in one process: 1e-7 was seen",
        scaled=True,
    ),
    "grad": Tolerance(
        2e-5,
        "gradients after the exchange",
        f"ranks add in a different order than one process does: 6e-7 was seen, and {_FLIPPED}",
        scaled=True,
    ),
    "param": Tolerance(
        5e-7,
        "parameters after a step",
        "a step changes a parameter by a small share of its size: 1.2e-7 was seen (SGD)",
        scaled=True,
    ),
}


def usual(*stages: str) -> tuple[Tolerance, ...]:
    """Those of the given stages."""
    return tuple(FP32[stage] for stage in stages)


PLAIN = (
    "one process that trains the same model on the whole batch: published formulas in double precision on the CPU, "
    "without torch's fused kernels, optimizers or backward pass. Ranks first compare these references among themselves"
)
# The two (or more) steps of SGD that most modes train.
TRAINED = Proof(
    "training steps of a small transformer. Compared on every rank: its parameters, what each rank computes by itself, "
    "the loss, every gradient after the exchange, and every parameter after the step",
    PLAIN,
    (EXACT, *usual("before", "local", "loss", "grad", "param")),
)
