"""Traces the memory of one training step with fake tensors: no GPU, no data, seconds for a model of any size.

Run as ``PYTHON -B memory_trace.py REQUEST`` in the interpreter under test; REQUEST is one JSON object (fields:
``rocdoctor/train/recommend/memory/trace.py``). Prints one JSON object: ``depths``, a list of traced depths, each with
``layers``, ``static`` (bytes alive before the step), ``forwarded`` (alive when the layers are done) and ``parts``, a
list of [part, place, most bytes alive in it]; or ``unavailable`` with the reason. Bytes are rounded to 512, as torch's
allocator on GPUs does.

Every operation passes a dispatch mode that follows each storage from its first appearance to its end. What kernels
allocate inside themselves is not seen. Standard library and torch alone, Python 3.9 and later.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys

sys.dont_write_bytecode = True
_HERE = os.path.dirname(os.path.abspath(__file__))
if sys.path and os.path.realpath(sys.path[0] or ".") == os.path.realpath(_HERE):
    del sys.path[0]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

SCHEMA = "rocdoctor.memory-trace/1"
_BLOCK = 512


class Unavailable(Exception):
    """This interpreter cannot trace; the message says why."""


def _model_code() -> Any:
    """The module beside this file, found by its path: its folder shall hide nothing of the user's."""
    found = importlib.util.spec_from_file_location("rocdoctor_memory_model", os.path.join(_HERE, "memory_model.py"))
    if found is None or found.loader is None:
        raise Unavailable("memory_model.py is missing")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def _counter() -> Any:
    """A dispatch mode that counts bytes alive; a function, since its base class needs torch."""
    import weakref

    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    try:
        from torch.utils._python_dispatch import is_traceable_wrapper_subclass
    except ImportError:
        raise Unavailable(f"torch {torch.__version__} does not tell wrapped tensors apart") from None

    class Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __init__(self) -> None:
            super().__init__()  # type: ignore[no-untyped-call]
            self.now = 0
            self.forwarded = 0
            self.parts: list[list[Any]] = []
            self._held: dict[int, tuple[Any, int]] = {}

        def mark(self, part: str, place: int) -> None:
            """A part of the step begins."""
            self.parts.append([part, place, self.now])
            if part == "head":
                self.forwarded = self.now

        def see(self, tensor: Any) -> None:
            """Count the storage of a tensor once, until it ends."""
            storage = tensor.untyped_storage()
            key = storage._cdata
            if key in self._held:
                self._set(key, storage.nbytes())
                return

            def gone(_: Any) -> None:
                self.now -= self._held.pop(key)[1]

            self._held[key] = (weakref.ref(storage, gone), 0)
            self._set(key, storage.nbytes())

        def _set(self, key: int, size: int) -> None:
            reference, before = self._held[key]
            rounded = -(-size // _BLOCK) * _BLOCK
            self._held[key] = (reference, rounded)
            self.now += rounded - before
            if self.parts and self.parts[-1][2] < self.now:
                self.parts[-1][2] = self.now

        def resized(self, storage: Any) -> None:
            """The storage has another size; sharding frees and takes memory so."""
            if storage._cdata in self._held:
                self._set(storage._cdata, storage.nbytes())

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            # Sharded tensors first become operations on their local parts, which come here again.
            if any(getattr(one, "__name__", "") == "DTensor" for one in types):
                return NotImplemented
            out = function(*args, **(kwargs or {}))
            for one in tree_leaves(out):
                if isinstance(one, torch.Tensor) and not is_traceable_wrapper_subclass(one):
                    self.see(one)
            return out

    return Counter()


@contextlib.contextmanager
def _following_sizes(counter: Any) -> Iterator[None]:
    """Tell the counter when a storage changes its size: that is no operation."""
    import torch

    before = torch.UntypedStorage.resize_

    def resize(self: Any, size: int) -> Any:
        out = before(self, size)
        counter.resized(self)
        return out

    torch.UntypedStorage.resize_ = resize  # type: ignore[method-assign]
    try:
        yield
    finally:
        torch.UntypedStorage.resize_ = before  # type: ignore[method-assign]


def _mesh(request: Mapping[str, Any]) -> Any:
    """The ranks over which states are sharded, as a mesh of a process group that sends nothing; None without."""
    if request["framework"] != "fsdp2":
        return None
    import torch

    try:
        import torch.distributed as dist
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard  # noqa: F401 - asked whether it is there
        from torch.testing._internal.distributed.fake_pg import FakeStore
    except ImportError as error:
        raise Unavailable(f"torch {torch.__version__} lacks what a trace of sharding needs ({error})") from None
    ranks = request["shard"] * request["replicate"]
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=ranks)
    if request["replicate"] > 1:
        return init_device_mesh("cpu", (request["replicate"], request["shard"]), mesh_dim_names=("dp", "fsdp"))
    return init_device_mesh("cpu", (ranks,))


def _sharded(model: Any, request: Mapping[str, Any], mesh: Any) -> None:
    """FSDP2 with a unit a layer and one for the rest; bf16 weights, and gradients summed as torchtitan or accelerate
    does it."""
    import torch
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    policy = MixedPrecisionPolicy()
    if request["mixed"]:
        summed = torch.bfloat16 if request["sums_in_16"] else torch.float32
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=summed)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy, reshard_after_forward=request["reshard"])
    fully_shard(model, mesh=mesh, mp_policy=policy, reshard_after_forward=request["reshard"])


def _traced(request: Mapping[str, Any], layers: int, code: Any, mesh: Any) -> dict[str, Any]:
    """Bytes alive in each part of one step of a model of this depth."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    counter = _counter()
    kind = torch.bfloat16 if request["params"] == "bf16" else torch.float32
    batch, seq = request["batch"], request["seq"]
    before = torch.get_default_dtype()
    with FakeTensorMode(allow_non_fake_inputs=True), _following_sizes(counter), counter:
        torch.set_default_dtype(kind)
        model = code.Decoder(request, layers, counter.mark)
        torch.set_default_dtype(before)
        if mesh is not None:
            _sharded(model, request, mesh)
        compute = torch.bfloat16 if request["mixed"] or kind == torch.bfloat16 else torch.float32
        words = torch.zeros(batch, seq, dtype=torch.int64)
        angles = [torch.zeros(seq, request["head_dim"], dtype=compute) for _ in range(2)]
        mask = torch.zeros(seq if request["attention"] == "eager" else 1, dtype=compute)

        def step() -> None:
            counter.mark("start", 0)
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=request["autocast"]):
                loss, kept = model(words, *angles, mask)
            counter.mark("loss", 0)
            loss.backward()
            del kept
            counter.mark("end", 0)

        step()
        if not request["accumulate"]:
            for one in model.parameters():
                one.grad = None
        static = counter.now
        counter.parts.clear()
        step()
        return {"layers": layers, "static": static, "forwarded": counter.forwarded, "parts": counter.parts}


def trace(request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a request."""
    try:
        import torch
    except (ImportError, OSError) as error:
        where = f"torch cannot be imported in {sys.executable or 'this interpreter'}: {error}"
        raise Unavailable(f"{where}; name the interpreter that trains with --python PATH") from None
    try:
        from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: F401 - asked whether it is there
    except ImportError as error:
        raise Unavailable(
            f"torch {torch.__version__} has no fake tensors ({error}); --python PATH names another"
        ) from None
    torch.set_num_threads(1)
    code, mesh = _model_code(), _mesh(request)
    depths = [_traced(request, layers, code, mesh) for layers in request["layers"]]
    return {"schema": SCHEMA, "torch": str(torch.__version__), "depths": depths}


def main(arguments: list[str]) -> int:
    """Answer on the descriptor that was stdout at the start; whatever libraries print goes to stderr."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        answer = trace(json.loads(arguments[0]))
    except Unavailable as error:
        answer = {"schema": SCHEMA, "unavailable": str(error)}
    except Exception as error:
        if os.environ.get("ROCDOCTOR_DEBUG"):
            raise
        answer = {"schema": SCHEMA, "unavailable": f"{type(error).__name__}: {error}"[:600]}
    out.write(json.dumps(answer) + "\n")
    out.flush()
    return 0


if __name__ == "__main__":
    status = 1
    try:
        status = main(sys.argv[1:])
    finally:
        # Exit handlers of imported libraries can hang; nothing here needs them.
        sys.stderr.flush()
        os._exit(status)
