"""What a mode has at hand on one rank: the ranks, the device, the reference, and comparisons."""

from __future__ import annotations

from typing import Any

from . import model as models
from . import plain, shards
from .board import Board
from .compare import ModeComparisons, agreed
from .mode import ModeNotApplicable
from .tolerance import GPU_FACTOR


class Context:
    """One mode on one rank.

    ``device`` is where this rank computes; ``backend`` the name of the process group's back end; ``folder`` a scratch
    folder that all ranks share, where there is one. ``facts`` goes into the result as it is (small, JSON);
    ``options`` are those of the order.
    ``marks`` counts the announced steps; ``timeout_s`` is how long one collective may take; ``sketches`` are numbers by
    which the runner compares what ranks compare with.
    """

    def __init__(
        self,
        torch: Any,
        rank: int,
        world: int,
        device: Any,
        backend: str,
        folder: str,
        board: Board,
        cache: dict[Any, Any],
    ) -> None:
        self.torch = torch
        self.rank = rank
        self.world = world
        self.device = device
        self.backend = backend
        self._folder = folder
        self.sizes = models.Sizes(world)
        self.facts: dict[str, Any] = {}
        self.sketches: dict[str, list[float]] = cache.setdefault("sketches", {})
        self.options: dict[str, Any] = {}
        self.marks = 0
        self.timeout_s = 0.0
        self.board = board
        self._cache = cache
        self.comparison = ModeComparisons(
            torch, factor=1.0 if device.type == "cpu" else GPU_FACTOR, told=lambda *words: board.fault(*words)
        )
        self.limit = self.comparison.limit
        self.check = self.comparison.check
        self.check_all = self.comparison.check_all
        self.expect = self.comparison.expect

    @property
    def folder(self) -> str:
        """A scratch folder that all ranks share; a mode that asks for it is not applicable where there is none."""
        self.need(self._folder, "needs a folder that all nodes share; this run has none")
        return self._folder

    def mark(self, text: str) -> None:
        """Announce the step; it is what a fault message names when this rank does not come back."""
        self.marks += 1
        self.board.mark(text)

    def clear(self, optimizer: Any, step: int) -> None:
        """Take away the gradients of the step before, and see that they are gone."""
        optimizer.zero_grad()
        held = [one.grad for group in optimizer.param_groups for one in group["params"] if one.grad is not None]
        gone = not any(bool(shards.local_of(one).any()) for one in held)
        words = "are still there after zero_grad"
        self.expect("before", "the gradients of the step before", gone, words, step=step, layer="framework")

    def agree(self, name: str, numbers: list[int]) -> None:
        """See that all ranks have decided alike, each for itself: exchanges that follow from it may not end.

        Of two it cannot be told which is right.
        """
        torch, dist = self.torch, self.torch.distributed
        own = torch.tensor(numbers, dtype=torch.int64, device=self.device)
        many = [torch.empty_like(own) for _ in range(self.world)]
        self.mark(f"{name}, all_gather int64[{len(numbers)}]")
        dist.all_gather(many, own)
        usual = agreed(torch, many)
        words = "is not what most ranks have" if usual is not None else "differs, and it is not clear which is right"
        same = usual is not None and torch.equal(own, usual)
        self.expect("input", name, same, words, layer="framework")

    def need(self, holds: Any, words: str) -> None:
        """End the mode as not applicable unless ``holds``."""
        if not holds:
            raise ModeNotApplicable(words)

    def build(self, layers: int = 0) -> Any:
        """The model on this rank's device, with the same numbers on every rank."""
        return models.build(self.torch, self.sizes, layers).to(self.device)

    def batches(self, steps: int = 2) -> list[tuple[Any, Any]]:
        """Whole batches of the steps, on this rank's device."""
        return [
            (one.to(self.device), two.to(self.device)) for one, two in models.batches(self.torch, self.sizes, steps)
        ]

    def share(self, tensor: Any, rank: int | None = None, world: int | None = None) -> Any:
        """This rank's part of a batch: equal, consecutive rows."""
        rank, world = self.rank if rank is None else rank, world or self.world
        rows = tensor.shape[0] // world
        return tensor[rank * rows : (rank + 1) * rows]

    def reference(self, kind: str = "sgd", steps: int = 2, layers: int = 0) -> models.Reference:
        """What one process computes on whole batches by plain formulas; computed once a pool."""
        key = ("reference", kind, steps, layers)
        data = models.batches(self.torch, self.sizes, steps)
        found: models.Reference = self.cached(key, lambda: plain.train(self.torch, self.sizes, layers, data, kind))
        self.compared(" ".join(map(str, key)), [*found.losses, *found.grads[-1].values(), *found.after[-1].values()])
        return found

    def certain(
        self, step: int, steps: int, held: dict[str, Any], part: Any = dict, later: float = 0.0
    ) -> dict[str, Any]:
        """What is held after a step of ``reference("adamw", steps)``, with the expected value where it is as near as
        can be told: where a gradient is next to nothing, rounding decides in which direction AdamW moves a value.

        ``part``: what of whole tensors is held; ``later``: what gradients after the first step may be off by, where
        that is more than usual, as a share of the largest.
        """
        wanted, torch = self.reference("adamw", steps), self.torch
        first = self.limit("grad")
        shares = [first, *[max(first, later)] * (steps - 1)]
        doubts = part(self.cached(("doubts", steps, later), lambda: plain.doubts(torch, wanted, shares))[step])
        right = part(wanted.after[step])
        return {name: plain.settled(torch, one, right[name], doubts[name]) for name, one in held.items()}

    def compared(self, name: str, tensors: list[Any]) -> None:
        """Tell the runner what this rank compares with: ranks that expect different numbers are not all right."""
        if name not in self.sketches:
            self.sketches[name] = plain.sketch(self.torch, tensors)

    def share_alone(self, kind: str, steps: int, step: int, rank: int) -> tuple[Any, dict[str, Any]]:
        """Loss and gradients of a rank's own share in a step of ``reference``, by plain formulas."""

        def make() -> tuple[Any, dict[str, Any]]:
            tokens, targets = models.batches(self.torch, self.sizes, step + 1)[step]
            state = self.reference(kind, steps).before[step]
            return self.alone(state, self.share(tokens, rank), self.share(targets, rank))

        found: tuple[Any, dict[str, Any]] = self.cached(("share", kind, step, rank), make)
        return found

    def alone(self, state: dict[str, Any], tokens: Any, targets: Any) -> tuple[Any, dict[str, Any]]:
        """Loss and gradients of some rows for given parameters, by plain formulas."""
        trained = self.cached("plain model", lambda: plain.model(self.torch, self.sizes))
        trained.load_state_dict(state)
        return plain.loss_and_gradients(self.torch, trained, tokens.cpu(), targets.cpu())

    def cached(self, key: Any, make: Any) -> Any:
        """``make()`` once a pool."""
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    def mesh(self, *sizes: int, names: tuple[str, ...]) -> Any:
        """A device mesh; made once a pool, since each holds process groups."""
        from torch.distributed.device_mesh import init_device_mesh

        return self.cached(
            ("mesh", sizes, names), lambda: init_device_mesh(self.device.type, sizes, mesh_dim_names=names)
        )
