"""The tensors of a decoder as one rank holds them: shapes after tensor and expert parallelism, before any sharding.

Tensor parallelism cuts projections as Megatron does (queries, keys, values, gate and up by rows, the others by
columns, the vocabulary by rows) and leaves norms whole; expert parallelism divides the experts. What does not divide
is rounded up, as the first rank has it. Sums over all layers are ``shapes.counted_parameters``, to the last one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Literal, Protocol

from rocdoctor.train.recommend.model.layout import Parallel
from rocdoctor.train.recommend.model.shapes import Kind, Model, counted_parameters

UnitName = Literal["embedding", "layer", "head"]


class HeldBy(Protocol):
    """What of a configuration decides which tensors a rank holds."""

    @property
    def model(self) -> Model: ...
    @property
    def parallel(self) -> Parallel: ...
    @property
    def method(self) -> Literal["full", "lora", "qlora"]: ...
    @property
    def lora_rank(self) -> int: ...


@dataclass(frozen=True, slots=True)
class _Held:
    model: Model
    parallel: Parallel
    method: Literal["full", "lora", "qlora"]
    lora_rank: int


@dataclass(frozen=True, slots=True)
class Tensor:
    """One parameter on a rank; ``whole`` says that every rank of tensor parallelism holds all of it."""

    shape: tuple[int, ...]
    trained: bool = True
    expert: bool = False
    whole: bool = True
    linear: bool = False

    @property
    def count(self) -> int:
        """Elements."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class Unit:
    """Parameters that travel together, and how many equal units the rank has."""

    name: UnitName
    tensors: tuple[Tensor, ...]
    count: int = 1


def total(units: Iterable[Unit], trained: bool = False) -> int:
    """Elements of all tensors, or of those that are trained."""
    return sum(unit.count * sum(one.count for one in unit.tensors if one.trained or not trained) for unit in units)


def _rows(work: HeldBy, rows: int, columns: int, bias: bool) -> list[Tensor]:
    """A projection that is cut by its outputs."""
    rows = -(-rows // work.parallel.tp)
    base = Tensor((rows, columns), trained=work.method == "full", whole=False, linear=True)
    made = [base, *([Tensor((rows,), trained=base.trained, whole=False)] if bias else [])]
    if work.method != "full":
        made += [Tensor((work.lora_rank, columns)), Tensor((rows, work.lora_rank), whole=False)]
    return made


def _columns(work: HeldBy, rows: int, columns: int, bias: bool) -> list[Tensor]:
    """A projection that is cut by its inputs; its bias is whole."""
    columns = -(-columns // work.parallel.tp)
    base = Tensor((rows, columns), trained=work.method == "full", whole=False, linear=True)
    made = [base, *([Tensor((rows,), trained=base.trained)] if bias else [])]
    if work.method != "full":
        made += [Tensor((work.lora_rank, columns), whole=False), Tensor((rows, work.lora_rank))]
    return made


def _small(work: HeldBy, *counts: int) -> list[Tensor]:
    return [Tensor((one,), trained=work.method == "full") for one in counts if one]


def norm_tensors(work: HeldBy, width: int) -> list[Tensor]:
    """Weight of a norm, and its bias where it has one."""
    return _small(work, width, width if work.model.norm_bias else 0)


def _attention(work: HeldBy) -> list[Tensor]:
    model = work.model
    h, latent, bias = model.hidden, model.latent, model.bias or model.attn_bias
    if latent is None:
        found = [one for width in (model.q_width, model.k_width, model.v_width) for one in _rows(work, width, h, bias)]
    else:
        # The down-projections are small and whole on every rank; their norms follow them.
        down = latent.kv_rank + latent.rope
        found = [Tensor((down, h), trained=work.method == "full"), *_small(work, latent.kv_rank)]
        if latent.q_rank:
            found += [Tensor((latent.q_rank, h), trained=work.method == "full"), *_small(work, latent.q_rank)]
        found += _rows(work, model.q_width, latent.q_rank or h, False)
        found += _rows(work, model.heads * (latent.nope + latent.v), latent.kv_rank, False)
        found += _small(work, model.q_width + model.k_width + model.v_width if bias else 0)
    found += _columns(work, h, model.o_width, model.bias)
    found += _small(work, *([model.head_dim] * 2 if model.qk_norm else []))
    if model.more_weights:
        found += _rows(work, max(1, model.more_weights // h), h, False)
    if model.sinks:
        found.append(Tensor((-(-model.heads // work.parallel.tp),), trained=work.method == "full", whole=False))
    return found


def _mlp(work: HeldBy, width: int, bias: bool) -> list[Tensor]:
    h = work.model.hidden
    up = [one for _ in range(2 if work.model.gated else 1) for one in _rows(work, width, h, bias)]
    return [*up, *_columns(work, h, width, bias)]


def _experts(work: HeldBy) -> list[Tensor]:
    model, plan = work.model, work.parallel
    count, width = model.experts // plan.ep, -(-model.expert_ffn // plan.cut)
    full, ups = work.method == "full", 2 if model.gated else 1
    shapes: list[tuple[int, ...]] = [*[(count, width, model.hidden)] * ups, (count, model.hidden, width)]
    if model.bias:
        shapes += [(count, width)] * ups + [(count, model.hidden)]
    found = [Tensor(shape, trained=full, expert=True, whole=False) for shape in shapes]
    if model.shared_experts:
        found += _mlp(work, model.shared_experts * model.expert_ffn, False)
    found.append(Tensor((model.experts, model.hidden), trained=full))
    return found + _small(work, model.experts if model.bias else 0, model.experts if model.router_bias else 0)


def layer(work: HeldBy, kind: Kind) -> tuple[Tensor, ...]:
    """All tensors of one layer."""
    model = work.model
    norms = norm_tensors(work, model.hidden) * model.norms
    inner = _experts(work) if kind == "moe" else _mlp(work, model.ffn, model.bias)
    return (*norms, *_attention(work), *inner)


def embedding(work: HeldBy) -> tuple[Tensor, ...]:
    """The embedding, and what a given parameter count has beyond the shapes: learned positions."""
    model, full = work.model, work.method == "full"
    found = [Tensor((-(-model.vocab // work.parallel.tp), model.hidden), trained=full, whole=False)]
    beyond = int(model.given_parameters or 0) - counted_parameters(model)
    return (*found, *_small(work, beyond if beyond > 0 else 0))


def head(work: HeldBy, tied: bool) -> tuple[Tensor, ...]:
    """The last norm, and the head where it is a matrix of its own on this rank."""
    model = work.model
    norm = norm_tensors(work, model.hidden)
    if tied:
        return tuple(norm)
    shape = (-(-model.vocab // work.parallel.tp), model.hidden)
    return (*norm, Tensor(shape, trained=work.method == "full", whole=False))


def holders(work: HeldBy) -> tuple[int, ...]:
    """The rank of the pipeline that holds each stage: round and round, or down and up again for V schedules."""
    plan = work.parallel
    if plan.schedule in {"zbv", "v-half", "v-min"} and plan.pp > 1:
        return (*range(plan.pp), *reversed(range(plan.pp)))
    return tuple(range(plan.pp)) * plan.chunks


def layers_held(work: HeldBy, rank: int) -> tuple[tuple[Kind, int], ...]:
    """Layers of a rank of the pipeline by kind; they are cut among all stages as evenly as they go."""
    own, model = holders(work), work.model
    found: dict[Kind, int] = {}
    for stage, holder in enumerate(own):
        if holder == rank:
            first, end = (at * model.layers // len(own) for at in (stage, stage + 1))
            for kind, count in model.kinds_between(first, end):
                found[kind] = found.get(kind, 0) + count
    return tuple(found.items())


def units(work: HeldBy, rank: int) -> tuple[Unit, ...]:
    """What a rank of the pipeline holds: the embedding, layers by kind, and norm and head."""
    return _units(_Held(work.model, work.parallel, work.method, work.lora_rank), rank)


@lru_cache(maxsize=4096)  # a search asks for the same division with many batches and kinds of recomputation
def _units(work: _Held, rank: int) -> tuple[Unit, ...]:
    own = holders(work)
    first, last = own[0] == rank, own[-1] == rank
    found = [Unit("embedding", embedding(work))] if first else []
    found += [Unit("layer", layer(work, kind), count) for kind, count in layers_held(work, rank)]
    if last:
        # A pipeline holds a tied matrix on both of its ends, unless they are one rank.
        found.append(Unit("head", head(work, work.model.tied and first)))
    return tuple(found)
