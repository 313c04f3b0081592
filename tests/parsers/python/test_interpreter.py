"""The parser of the interpreter probe's output, on constructed lines (versions and names as real builds have them)."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.python.interpreter import architectures, package, parse


def line(part: str, **values: Any) -> str:
    return json.dumps({"schema": "rocdoctor.probe/1", "part": part, **values})


STATIC = line(
    "static",
    python={
        "executable": "/home/u/venv/bin/python",
        "version": "3.12.3",
        "kind": "venv",
        "base_kind": "system",
        "externally_managed": "/usr/lib/python3.12/EXTERNALLY-MANAGED",
        "libc": "glibc 2.39",
        "extension_suffixes": [".cpython-312-x86_64-linux-gnu.so", ".abi3.so", ".so"],
        "flags": {"isolated": False, "no_user_site": True},
    },
    path=[{"path": "/home/u/venv/lib/python3.12/site-packages", "origin": "environment", "exists": True}],
    packages=[
        {"name": "torch", "version": "2.7.1+rocm6.3", "metadata": "/a/torch-2.7.1+rocm6.3.dist-info"},
        {"name": "torch", "version": "2.7.1", "metadata": "/b/torch-2.7.1.dist-info"},
        {"name": "vllm", "version": None, "metadata": "/a/vllm.egg-link", "editable": True},
        {"name": "vllm", "version": "0.6.3", "metadata": "/src/vllm.egg-info"},
    ],
    packages_total=212,
    requirements_complete=False,
    leftovers=[],
    shadows=[{"name": "random", "path": "/home/u/job/random.py", "role": "cwd", "hides": "stdlib"}],
    torch={
        "path": "/a/torch",
        "kind": "package",
        "version_file": {"__version__": "2.7.1+rocm6.3", "cuda": None, "hip": "6.3.42134-a9a80e791", "debug": False},
        "extensions": ["_C.cpython-312-x86_64-linux-gnu.so"],
        "lib": ["libamdhip64.so", "libtorch_hip.so"],
    },
    torch_known=True,
    errors=[],
)
CODE = line(
    "device-code",
    sources=[
        {"source": "torch/lib/rocblas/library", "method": "file-names", "targets": ["gfx803"], "complete": True},
        {
            "source": "torch/lib/libtorch_hip.so",
            "method": "code-objects",
            "targets": ["gfx90a"],
            "complete": False,
            "count": 900,
            "counts": {"gfx90a:xnack-": 8},
            "reason": "first compressed bundles only",
        },
    ],
)


def step(name: str, value: Any = None, **values: Any) -> str:
    answer = {"ok": True, "value": value, "warnings": [], "elapsed_s": 0.25} | values
    return line("begin", step=name) + "\n" + line("step", step=name, **answer)


def test_static_lines_between_noise() -> None:
    report = parse(f"loading modules\n\n{STATIC} trailing\nnoise{CODE}\n{line('end')}\n")
    assert report.python is not None
    assert (report.python.version, report.python.kind, report.python.line) == ("3.12.3", "venv", 3)
    assert report.python.externally_managed == "/usr/lib/python3.12/EXTERNALLY-MANAGED"
    torch = report.torch
    assert torch is not None
    assert (torch.version, torch.hip, torch.cuda) == ("2.7.1+rocm6.3", "6.3.42134-a9a80e791", None)
    assert torch.stated == ("__version__", "cuda", "debug", "hip")
    assert (torch.bundled_rocm, torch.line) == (True, 3)
    best = architectures(torch)
    assert best is not None
    assert (best.targets, best.complete, best.line) == (("gfx90a",), False, 4)
    assert report.runtime is None
    assert [(item.name, item.path) for item in report.shadows] == [("random", "/home/u/job/random.py")]


def test_duplicates_but_not_an_editable_link() -> None:
    report = parse(STATIC)
    assert report.duplicates == ("torch",)
    first = package(report, "torch")
    assert first is not None
    assert first.version == "2.7.1+rocm6.3"
    assert package(report, "numpy") is None


def test_absent_and_unknown_torch_differ() -> None:
    assert parse(line("static", torch=None, torch_known=True)).torch_absent is True
    assert parse(line("static", torch=None, torch_known=False)).torch_absent is None
    assert parse(STATIC).torch_absent is False
    assert parse("nothing").torch_absent is None


def test_runtime_of_a_cuda_build() -> None:
    device = {
        "index": 0,
        "name": "NVIDIA A100-SXM4-40GB",
        "gcnArchName": "NVIDIA A100-SXM4-40GB",
        "major": 8,
        "minor": 0,
    }
    device |= {"total_memory": 42_298_834_944, "multi_processor_count": 108}
    device |= {"pci_domain_id": 0, "pci_bus_id": 0xBD, "pci_device_id": 0}
    report = parse(
        "\n".join(
            [
                step("import torch", {"file": "/a/torch/__init__.py", "version": "2.7.1+cu126"}),
                step("version", {"__version__": "2.7.1+cu126", "cuda": "12.6", "hip": None}),
                step("distributed", {"is_available": True, "is_nccl_available": True, "is_gloo_available": True}),
                step("cuda.is_available", True),
                step("cuda.device_count", 1),
                step("nccl.version", [2, 26, 2]),
                step("device.0", device),
                step("arch_list", ["sm_80", "sm_90"]),
            ]
        )
    )
    runtime = report.runtime
    assert runtime is not None
    assert (runtime.imported, runtime.device_count, runtime.arch_list) == (True, 1, ("sm_80", "sm_90"))
    assert runtime.arch_list_line == 16
    assert runtime.nccl_version == "2.26.2"
    (gpu,) = runtime.devices
    assert (gpu.gfx, gpu.bdf, gpu.line) == (None, "0000:bd:00.0", 14)
    assert runtime.unfinished_step is None


def test_no_gpu_leaves_the_architectures_unknown() -> None:
    runtime = parse(step("cuda.is_available", False) + "\n" + step("arch_list", [])).runtime
    assert runtime is not None
    assert runtime.arch_list is None


def test_an_error_is_kept_in_its_words() -> None:
    said = "libcudnn.so.9: cannot open shared object file: No such file or directory"
    runtime = parse(step("import torch", ok=False, error={"class": "ImportError", "message": said})).runtime
    assert runtime is not None
    assert runtime.imported is False
    (error,) = runtime.errors
    assert (error.error_class, error.message, error.line) == ("ImportError", said, 2)


def test_a_killed_child_leaves_its_step() -> None:
    whole_text = STATIC + "\n" + step("import torch", {"version": "2.9.0"}) + "\n" + line("begin", step="cuda.init")
    report = parse(whole_text)
    assert report.runtime is not None
    assert (report.runtime.imported, report.runtime.unfinished_step) == (True, "cuda.init")
    cut = parse(whole_text[: whole_text.index('"part": "step"')])
    assert cut.runtime is not None
    assert (cut.runtime.imported, cut.runtime.unfinished_step) == (None, "import torch")


def test_other_schemas_and_types_are_ignored() -> None:
    assert parse(STATIC.replace("probe/1", "probe/2")).python is None
    odd = parse(line("static", python=7, packages={"torch": 1}, torch=["x"], path=3, shadows="no", torch_known=True))
    assert (odd.python, odd.packages, odd.torch, odd.shadows) == (None, None, None, ())
    begin = '{"schema": "rocdoctor.probe/1", "part": "asked", "interpreter": "/p", "n": '
    assert parse(begin + "9" * 5000 + "}").asked == "/p"
    assert (
        parse('{"schema": "rocdoctor.probe/1", "part": "asked", "interpreter": "/p", "x": ' + "[" * 100_000).asked
        is None
    )


def test_texts_can_be_printed() -> None:
    python = parse(line("static", python={"executable": "/home/\udcff/python", "version": "3" * 100_000})).python
    assert python is not None
    assert python.executable == "/home/?/python"
    assert len(python.version or "") == 8_000


def test_truncated_halves_never_raise() -> None:
    text = "\n".join([STATIC, CODE, step("cuda.is_available", True), step("device.0", {"index": 0}), line("end")])
    for end in range(0, len(text), 7):
        parse(text[:end])
        parse(text[end:])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(
    ["python", "path", "packages", "torch", "torch_known", "shadows", "sources", "errors", "value", "ok", "error"]
)
steps = st.sampled_from(["import torch", "version", "device.0", "nccl.version", "distributed", "arch_list", "end"])
parts = st.sampled_from(["static", "device-code", "begin", "step", "end"])


@given(st.lists(st.tuples(parts, steps, st.dictionaries(names, json_values, max_size=4)), max_size=4))
def test_any_values_never_raise(found: list[tuple[str, str, dict[str, Any]]]) -> None:
    parse("\n".join(line(part, **{"step": name, **values}) for part, name, values in found))
