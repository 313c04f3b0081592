"""Ranks unpickle values and records alone: whoever takes a rank's place on the network runs nothing in the others."""

from __future__ import annotations

import io
import linecache
import os
import pickle
import subprocess
import sys
import traceback
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.train.smoke.worker.guard import PlainUnpickler
from tests.kit import ROOT
from tests.train.smoke import kit

torch = pytest.importorskip("torch")


def read(data: bytes) -> Any:
    return PlainUnpickler(io.BytesIO(data)).load()


class Calls:
    """What a hostile rank sends."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self._of = function, arguments

    def __reduce__(self) -> Any:
        return self._of


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    "hostile",
    [
        Calls(os.system, "exit 0"),
        Calls(subprocess.Popen, ["true"]),
        Calls(eval, "1"),
        Calls(exec, "1"),
        Calls(getattr, "", "join"),
        Calls(open, os.devnull),
        Calls(__import__, "this"),
        Calls(type, "x", (), {}),
        Calls(torch.load, "x"),
        Calls(torch.storage._load_from_bytes, b""),
        Calls(torch.serialization.load, "x"),
        Calls(torch.hub.load, "x", "y"),
        os.system,
        Path.unlink,
        [[{"a": Calls(os.getcwd)}]],
    ],
)
def test_nothing_that_does_something_is_looked_up(hostile: Any, protocol: int) -> None:
    with pytest.raises(pickle.UnpicklingError, match="does not unpickle"):
        read(pickle.dumps(hostile, protocol))


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("torch.distributed.checkpoint.filesystem", "os"),
        ("torch.distributed.checkpoint.filesystem", "pickle.loads"),
        ("torch.distributed.checkpoint.metadata", "os.system"),
        ("torch.distributed.checkpoint.filesystem", "FileSystemReader"),
        ("torch.distributed.checkpoint.filesystem", "_write_item"),
        ("torch.distributed.checkpoint.planner", "dataclass"),
        ("torch", "load"),
        ("torch", "os"),
        ("torch", "_C"),
        ("torch.serialization", "load"),
        ("builtins", "object"),
        ("builtins", "Exception.__subclasses__"),
        ("builtins", "SystemExit"),
        ("collections", "namedtuple"),
        ("pathlib", "os"),
    ],
)
def test_no_other_name_of_a_known_module_is_found(module: str, name: str) -> None:
    data = b"\x80\x04" + b"".join(b"\x8c" + bytes([len(one)]) + one.encode() for one in (module, name)) + b"\x93."
    with pytest.raises(pickle.UnpicklingError, match="does not unpickle"):
        read(data)


def test_values_and_records_come_through() -> None:
    from torch.distributed.checkpoint.metadata import MetadataIndex, TensorProperties
    from torch.distributed.checkpoint.planner import LoadItemType, SavePlan

    properties = TensorProperties(torch.float32)
    for one in (
        {"rank": 1, "text": "x" * 300, "more": [1.5, None, True, b"y", (1, 2), {3}, frozenset((4,))]},
        OrderedDict(a=1),
        torch.Size((2, 3)),
        torch.bfloat16,
        torch.device("cpu"),
        Path("a/b"),
        SavePlan([]),
        LoadItemType.TENSOR,
        MetadataIndex("weight", torch.Size((0, 2))),
    ):
        assert read(pickle.dumps(one)) == one
    assert read(pickle.dumps(properties)).dtype is torch.float32
    assert str(read(pickle.dumps(ValueError("of another rank")))) == "of another rank"


def test_members_of_enumerations_come_through_as_python_3_11_2_sends_them() -> None:
    """Debian 12 has it: its members are calls of getattr with their class."""
    from torch.distributed.checkpoint.planner import LoadItemType, SavePlan

    assert read(pickle.dumps(Calls(getattr, LoadItemType, "TENSOR"))) is LoadItemType.TENSOR
    for of, name in ((LoadItemType, "__class__"), (LoadItemType, "mro"), (SavePlan, "__init__"), (ValueError, "mro")):
        with pytest.raises(pickle.UnpicklingError, match="does not unpickle"):
            read(pickle.dumps(Calls(getattr, of, name)))


class Filled(Calls):
    """The same, and attributes are set of what came out."""

    def __init__(self, function: Any, arguments: tuple[Any, ...], state: Any) -> None:
        self._of = function, arguments, state  # type: ignore[assignment]


def _outside() -> list[Any]:
    from torch.distributed.checkpoint.filesystem import _StorageInfo, _StoragePrefix
    from torch.distributed.checkpoint.planner import SavePlan

    names = ("/tmp/victim/__0_", "../__0_", "__0_/../../x", "__0_\n", "", 0, ["__0_"])
    found: list[Any] = [SavePlan([], storage_data=_StoragePrefix(one)) for one in names]  # type: ignore[arg-type]
    found += [Calls(_StoragePrefix, one) for one in names]
    found += [Filled(ValueError, (), {"prefix": one}) for one in names]  # whatever has the attribute is taken
    found += [Filled(_StoragePrefix, ("__0_",), (None, {"prefix": one})) for one in names]
    found += [_StorageInfo(one, 0, 1) for one in ("/etc/passwd", "../__0_0.distcp", "a/__0_0.distcp", "", "..")]
    return found


@pytest.mark.parametrize("protocol", range(3, 6))  # the older ones go by names of Python 2
def test_no_file_outside_the_folder_is_named(protocol: int) -> None:
    from torch.distributed.checkpoint.filesystem import _StorageInfo, _StoragePrefix

    for one in _outside():
        with pytest.raises(pickle.UnpicklingError, match=r"does not unpickle (prefix|relative_path)"):
            read(pickle.dumps(one, protocol))
    for one in (_StoragePrefix("__11_"), _StorageInfo("__11_0.distcp", 0, 1)):
        assert read(pickle.dumps(one, protocol)) == one


def test_attributes_of_classes_functions_and_members_are_not_set() -> None:
    from torch.distributed.checkpoint.filesystem import _StoragePrefix
    from torch.distributed.checkpoint.planner import LoadItemType

    build = pickle.dumps((None, {"planted": 1}), 0)[:-1] + b"b."
    for one in (_StoragePrefix, LoadItemType, LoadItemType.TENSOR, ValueError, torch.serialization._get_layout):
        with pytest.raises(pickle.UnpicklingError, match="does not unpickle attributes of"):
            read(pickle.dumps(one, 3)[:-1] + build)
        assert not hasattr(one, "planted")


def test_no_source_is_read_for_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def note(name: object, *_: object) -> str:
        asked.append(name)
        return ""

    made = traceback.extract_stack()[-1]
    assert made.line == "made = traceback.extract_stack()[-1]"
    for function in ("getline", "getlines", "updatecache"):
        monkeypatch.setattr(linecache, function, note)
    bare = traceback.FrameSummary("/tmp/fifo", 1, "f", lookup_line=False)
    hostile = Calls(traceback.FrameSummary, "/tmp/fifo", 1, "f")
    for one in (bare, hostile):
        frame = read(pickle.dumps(one))
        frame = read(pickle.dumps(frame))  # rank 0 hands it on
        assert "".join(traceback.StackSummary.from_list([frame]).format()).splitlines()[0] == (
            '  File "/tmp/fifo", line 1, in f'
        )
        assert not frame.line and "/tmp/fifo" not in asked
    again = read(pickle.dumps(read(pickle.dumps(made))))
    assert (again.filename, again.lineno, again.name, again.line) == (made.filename, made.lineno, made.name, made.line)


def test_code_from_another_rank_does_not_run() -> None:
    _, plant = kit._server()
    ran = Path(f"{plant}.ran")
    ran.unlink(missing_ok=True)
    result = kit.planted("evil-objects", 1, "objects")
    assert result.state == "crashed" and 0 in result.named, result.message
    assert "rocdoctor does not unpickle" in result.message and "open from another rank" in result.message
    assert not ran.exists()


def test_only_these_modes_exchange_objects() -> None:
    """Modes that unpickle have the mark by which they are left out over nodes."""
    from rocdoctor.train.smoke.worker.mode import all_modes

    marked = {one.name for one in all_modes() if one.objects}
    assert marked == {"objects", "checkpoint", "checkpoint-shapes", "checkpoint-resize", "resume-resized"}


def test_torch_unpickles_objects_by_that_name() -> None:
    """Where a release of torch changes it, the guard would guard nothing."""
    from torch.distributed import distributed_c10d as inner

    assert inner._unpickler is pickle.Unpickler
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import torch, torch.distributed as dist\n"
        "from worker import guard\n"
        "guard.install()\n"
        "dist.init_process_group('gloo', store=dist.HashStore(), rank=0, world_size=1)\n"
        "class Evil:\n"
        "    def __reduce__(self): return print, ('ran',)\n"
        "try: dist.all_gather_object([None], Evil())\n"
        "except Exception as error: print(error)\n"
        "import io\n"
        "stream = io.BytesIO(); torch.save({'a': Evil()}, stream); stream.seek(0)\n"
        "try: torch.load(stream, weights_only=False)\n"
        "except Exception as error: print(type(error).__name__)\n"
    )
    folder = str(ROOT / "rocdoctor" / "train" / "smoke")
    words = [sys.executable, "-c", program, folder]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.splitlines() == [
        "rocdoctor does not unpickle builtins.print from another rank",
        "UnpicklingError",
    ], done.stderr
