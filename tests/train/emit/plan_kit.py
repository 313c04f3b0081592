"""Plans made by hand, for tests of emitters: a fleet, a specification, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.recommend.fleet.gpu_figures import read_gpu
from rocdoctor.train.recommend.model.models import read_model
from rocdoctor.train.recommend.plan import Choice, Fleet, Method, Plan, Rank, Seat, Setting, Vendor, Workload

_FABRIC: Mapping[str, Literal["xgmi", "nvlink", "pcie"]] = {"MI300X": "xgmi", "H100": "nvlink"}


def fleet(gpu: str = "MI300X", per_node: int = 8, nodes: int = 1, vendor: Vendor = "amd") -> Fleet:
    """Equal nodes with two NUMA nodes of 64 threads each; the first half of the GPUs is on the first."""
    half = max(1, per_node // 2)
    seats = tuple(
        Seat(
            n,
            f"AMD Instinct {gpu}",
            f"0000:{0x05 + 0x10 * n:02x}:00.0",
            n,
            n // half,
            f"{n * 16}-{n * 16 + 15}",
            f"mlx5_{n}",
        )
        for n in range(per_node)
    )
    spec_gpu = {"name": gpu, "per_node": per_node}
    fabric = _FABRIC.get(gpu, "pcie")
    return Fleet(
        f"{nodes * per_node} x {gpu}",
        "machine",
        vendor,
        nodes,
        seats,
        read_gpu(spec_gpu, {}, []),
        spec_gpu,
        gfx="gfx942" if gpu == "MI300X" else None,
        fabric=fabric,
        islands=(tuple(range(per_node)),),
        host_memory_bytes=2.0e12,
        cpu_threads=128,
        cpu_cores=64,
        nics=tuple(f"mlx5_{n}" for n in range(per_node)),
    )


def plan(where: Fleet | None = None, model: Any = "llama-3.1-8b", method: Method = "pretrain", **fields: Any) -> Plan:
    """The plan of a specification; ``fields`` are those of ``rocdoctor estimate`` (seq, micro_batch, parallel, ...)."""
    used = where if where is not None else fleet()
    spec = {"model": model, "gpu": used.spec_gpu, "gpus": used.gpus, "seq": 8192, "micro_batch": 1, **fields}
    if method in ("lora", "qlora"):
        spec["method"] = method
    result = solve(spec)
    name = model if isinstance(model, str) else None
    workload = Workload(read_model(model, []), model, name, method, spec["seq"], spec.get("global_batch"))
    sizes = result.work.parallel
    choices = (
        Choice("framework", result.work.framework, f"a test asks for {result.work.framework}"),
        Choice("tensor_parallel", str(sizes.tp), "all-reduces stay inside one node", "64 GB/s a link"),
        Choice("shard", str(sizes.shard), "the states do not fit one GPU", "120 GiB of states"),
        Choice("micro_batch", str(result.work.micro_batch), "the largest that fits"),
        Choice("recompute", result.work.recompute, "activations fit without more of it"),
        Choice("precision", result.work.precision, "matrix cores reach their peak in it"),
        Choice("attention", result.work.attention, "a kernel that keeps no scores"),
    )
    ranks = tuple(Rank(seat.local_rank, seat, f"dp {seat.local_rank}") for seat in used.seats)
    environment = (Setting("OMP_NUM_THREADS", "8", "64 cores for 8 ranks; torchrun would set 1"),)
    return Plan(used, workload, spec, result, choices, ranks, environment)
