"""The probe of the interpreter under test, run as a child on constructed site-packages folders and torch packages."""

from __future__ import annotations

import ast
import ctypes.util
import json
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from rocdoctor.parsers.python.interpreter import architectures, package, parse
from tests.host.probe.told import Told
from tests.kit import ROOT

PROBE = ROOT / "rocdoctor" / "host" / "probe" / "interpreter.py"
SOABI_SUFFIX = next(suffix for suffix in __import__("importlib.machinery").machinery.EXTENSION_SUFFIXES)
ROCM_VERSION = """\
from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'rocm', 'xpu']
__version__ = '2.9.1+rocm6.4'
debug = False
cuda: Optional[str] = None
git_version = '0123456789abcdef0123456789abcdef01234567'
hip: Optional[str] = '6.4.43484-123eb5128'
rocm: Optional[str] = None
xpu: Optional[str] = None
"""


def run(site: Path, *arguments: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    place = cwd or site.parent / "work"
    place.mkdir(exist_ok=True)
    variables = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(site), "HOME": str(site.parent), **(env or {})}
    command = [sys.executable, str(PROBE), *arguments]
    done = subprocess.run(command, cwd=place, env=variables, capture_output=True, text=True, timeout=60)
    return done.stdout


def probe(site: Path, *arguments: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> Told:
    return Told(run(site, *arguments, cwd=cwd, env=env))


def write(path: Path, data: str | bytes = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def dist(site: Path, name: str, version: str, *requires: str) -> Path:
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {r}" for r in requires),
    ]
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    write(folder / "METADATA", "\n".join(lines) + "\n\nRequires-Dist: torch==0 (a line of the description)\n")
    write(folder / "INSTALLER", "pip\n")
    return folder


def elf(sections: dict[str, bytes]) -> bytes:
    """A 64-bit ELF file with these sections; each starts at a multiple of 4096 bytes."""
    names, body, rows = b"\0", b"", [(0, 0, 0)]
    for name, data in sections.items():
        body += b"\0" * (-(64 + len(body)) % 4096)
        rows.append((len(names), 64 + len(body), len(data)))
        names, body = names + name.encode() + b"\0", body + data
    rows.append((len(names), 64 + len(body), len(names) + len(".shstrtab") + 1))
    body += names + b".shstrtab\0"
    head = b"\x7fELF\x02\x01\x01".ljust(40, b"\0") + struct.pack("<Q", 64 + len(body)) + b"\0" * 10
    head += struct.pack("<HHH", 64, len(rows), len(rows) - 1)
    table = b"".join(struct.pack("<IIQQQQ", n, 1, 0, 0, at, size).ljust(64, b"\0") for n, at, size in rows)
    return head.ljust(64, b"\0") + body + table


def bundle(*targets: str) -> bytes:
    """An uncompressed code object bundle with 100 bytes for each target, as clang lays it out."""
    ids = [b"host-x86_64-unknown-linux-gnu-", *(b"hipv4-amdgcn-amd-amdhsa--" + target.encode() for target in targets)]
    entries, at = b"", 4096
    for name in ids:
        size = 0 if name.startswith(b"host") else 100
        entries += struct.pack("<QQQ", at, size, len(name)) + name
        at += size
    data = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(ids)) + entries
    return data.ljust(4096, b"\0") + b"\xbf" * (at - 4096)


def compressed(plain: bytes, method: str) -> bytes:
    if method == "zlib":
        body = zlib.compress(plain)
    else:  # a zstd frame of one block that is stored as it is
        body = (
            b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(plain)) + struct.pack("<I", len(plain) << 3 | 1)[:3] + plain
        )
    return b"CCOB" + struct.pack("<HHQQQ", 3, int(method == "zstd"), 32 + len(body), len(plain), 7) + body


def padded(*bundles: bytes) -> bytes:
    return b"".join(data + b"\0" * (-len(data) % 4096) for data in bundles)


def torch_wheel(site: Path, version_py: str, version: str, flags: str | None, *libraries: str) -> Path:
    torch = site / "torch"
    write(torch / "__init__.py", "raise RuntimeError('imported')\n")
    write(torch / "version.py", version_py)
    write(torch / ("_C" + SOABI_SUFFIX))
    constant = f"\0flag\0{flags}\0sm_\0compute_crc32\0" if flags else "\0no flags here\0"
    write(torch / "lib" / "libtorch_python.so", elf({".text": b"\x90", ".rodata": constant.encode()}))
    for name in libraries:
        write(torch / "lib" / name)
    dist(site, "torch", version)
    return torch


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "site").mkdir()
    return tmp_path / "site"


def test_rocm_wheel(site: Path) -> None:
    flags = "gfx90a gfx942 gfx1100"
    torch = torch_wheel(site, ROCM_VERSION, "2.9.1+rocm6.4", flags, "libamdhip64.so", "librccl.so.1")
    fatbin = padded(bundle("gfx90a:xnack-", "gfx942"), b"", bundle("gfx942"))
    write(torch / "lib" / "libtorch_hip.so", elf({".hip_fatbin": fatbin}))
    write(torch / "lib" / "rocblas" / "library" / "TensileLibrary_Type_HH_Contraction_l_Ailk_gfx90a.dat")
    write(torch / "lib" / "rocblas" / "library" / "Kernels.so-000-gfx1100.hsaco")
    write(torch / "lib" / "hipblaslt" / "library" / "gfx90a68_not_a_target.db")
    told = probe(site)
    build = told.report.torch
    assert build is not None
    assert (build.version, build.hip, build.cuda) == ("2.9.1+rocm6.4", "6.4.43484-123eb5128", None)
    assert build.bundled_rocm is True
    assert (told.torch["path"], told.torch["rocm_init"]) == (str(torch), False)
    assert told.torch["extensions"] == ["_C" + SOABI_SUFFIX]
    best = architectures(build)
    assert best is not None
    assert (best.method, best.targets, best.complete) == ("build-flags", ("gfx90a", "gfx942", "gfx1100"), True)
    code = told.source("torch/lib/libtorch_hip.so")
    assert (code["targets"], code["count"], code["complete"]) == (["gfx90a", "gfx942"], 2, True)
    assert code["counts"] == {"gfx90a:xnack-": 1, "gfx942": 2}
    assert told.source("torch/lib/rocblas/library")["targets"] == ["gfx1100", "gfx90a"]
    assert told.source("torch/lib/hipblaslt/library")["targets"] == []
    assert told.report.runtime is None
    assert told.finished


@pytest.mark.parametrize("method", ["zlib", "zstd"])
def test_compressed_code_objects(site: Path, method: str) -> None:
    torch = torch_wheel(site, ROCM_VERSION, "2.9.1+rocm6.4", None)
    packed = compressed(bundle("gfx1200", "gfx1201"), method)
    write(torch / "lib" / "libtorch_hip.so", elf({".hip_fatbin": padded(packed, packed)}))
    told = probe(site)
    assert told.report.torch is not None and told.report.torch.bundled_rocm is False
    code = told.source("torch/lib/libtorch_hip.so")
    if method == "zstd" and not ctypes.util.find_library("zstd"):
        assert (code["targets"], code["complete"]) == ([], False)
        assert code["reason"] == "compressed code objects, and nothing here to open them"
        return
    assert (code["targets"], code["count"], code["complete"]) == (["gfx1200", "gfx1201"], 2, True)


@pytest.mark.parametrize("damage", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 200, b"MZ" * 100])
def test_damaged_libraries_are_unknown(site: Path, damage: bytes) -> None:
    torch = torch_wheel(site, ROCM_VERSION, "2.9.1+rocm6.4", None)
    write(torch / "lib" / "libtorch_hip.so", damage)
    write(torch / "lib" / "libtorch_python.so", damage)
    told = probe(site)
    assert told.report.torch is not None
    assert architectures(told.report.torch) is None
    assert [source["complete"] for source in told.sources] == [False, False]
    assert all(source["reason"] for source in told.sources)


def test_cut_code_objects_are_incomplete(site: Path) -> None:
    torch = torch_wheel(site, ROCM_VERSION, "2.9.1+rocm6.4", None)
    write(torch / "lib" / "libtorch_hip.so", elf({".hip_fatbin": padded(bundle("gfx942")) + b"\x01 something else"}))
    code = probe(site).source("torch/lib/libtorch_hip.so")
    assert (code["targets"], code["complete"]) == (["gfx942"], False)
    assert code["reason"] == "not a known container of code objects"


def test_cuda_wheel(site: Path) -> None:
    text = "__version__ = '2.8.0+cu128'\ndebug = False\ncuda = '12.8'\nhip = None\n"
    torch_wheel(site, text, "2.8.0", "sm_75 sm_80 sm_90 compute_120", "libtorch_cuda.so")
    dist(site, "nvidia-nccl-cu12", "2.27.3")
    told = probe(site)
    build = told.report.torch
    assert build is not None
    assert (build.cuda, build.bundled_rocm) == ("12.8", None)
    best = architectures(build)
    assert best is not None
    assert best.targets == ("sm_75", "sm_80", "sm_90", "compute_120")
    nccl = told.package("nvidia-nccl-cu12")
    assert (nccl["version"], nccl["installer"], nccl["origin"]) == ("2.27.3", "pip", "pythonpath")


def test_cpu_wheel_names_no_architecture(site: Path) -> None:
    torch_wheel(site, "__version__ = '2.8.0+cpu'\ncuda = None\nhip = None\n", "2.8.0+cpu", None)
    build = probe(site).report.torch
    assert build is not None
    assert build.stated == ("__version__", "cuda", "hip")
    assert architectures(build) is None


def test_two_lists_of_architectures_decide_nothing(site: Path) -> None:
    torch_wheel(site, ROCM_VERSION, "2.9.1+rocm6.4", "gfx90a gfx942\0gfx1100 gfx1101")
    build = probe(site).report.torch
    assert build is not None
    assert architectures(build) is None


def test_version_file_is_never_run(site: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    opened = f"open({str(mark)!r}, 'w')"
    torch_wheel(site, f"{opened}\n__version__ = '2.8.0'\ncuda = str({opened})\n", "2.8.0", None)
    build = probe(site).report.torch
    assert build is not None
    assert (build.version, build.cuda, build.stated) == ("2.8.0", None, ("__version__",))
    assert not mark.exists()


def test_broken_version_file_keeps_the_rest(site: Path) -> None:
    torch_wheel(site, "__version__ = '2.8.0\n", "2.8.0", "sm_80 sm_90")
    told = probe(site)
    assert told.report.torch is not None
    assert told.report.torch.version is None
    assert told.torch["problem"].startswith("version.py: ")
    assert architectures(told.report.torch) is not None


def test_torch_for_another_python(site: Path) -> None:
    torch = torch_wheel(site, ROCM_VERSION, "2.9.1+rocm6.4", None)
    (torch / ("_C" + SOABI_SUFFIX)).rename(torch / "_C.cpython-35m-x86_64-linux-gnu.so")
    assert probe(site).torch["extensions"] == ["_C.cpython-35m-x86_64-linux-gnu.so"]


def test_folder_without_init_is_a_namespace(site: Path) -> None:
    # -S takes the site-packages of the interpreter that runs the tests off the path: it may have a torch.
    (site / "torch").mkdir()
    command = [sys.executable, "-S", "-B", str(PROBE)]
    done = subprocess.run(
        command, env={"PYTHONPATH": str(site)}, cwd=site.parent, capture_output=True, text=True, timeout=60
    )
    told = Told(done.stdout)
    assert told.report.torch is not None
    assert (told.torch["kind"], told.report.torch.version) == ("namespace", None)


def test_no_torch_is_known_to_be_absent(site: Path) -> None:
    command = [sys.executable, "-S", "-B", str(PROBE)]
    done = subprocess.run(
        command, env={"PYTHONPATH": str(site)}, cwd=site.parent, capture_output=True, text=True, timeout=60
    )
    report = parse(done.stdout)
    assert report.torch is None
    assert report.torch_absent is True


def test_requirements_that_concern_torch(site: Path) -> None:
    dist(site, "torchvision", "0.20.1", "numpy", "torch==2.5.1", "pillow!=8.3.*,>=5.3.0")
    dist(site, "my-trainer", "1.0", "torch<2.6", "rich")
    dist(site, "unrelated", "1.0", "rich")
    dist(site, "optional-torch", "1.0", 'torch>=2; extra == "gpu"')
    told = probe(site)
    report = told.report
    vision, trainer = package(report, "torchvision"), package(report, "my-trainer")
    assert vision is not None
    assert trainer is not None
    assert vision.requires == ("numpy", "torch==2.5.1")
    assert trainer.requires == ("torch<2.6",)
    assert package(report, "unrelated") is None
    assert package(report, "optional-torch") is None
    assert told.static["packages_total"] >= 4


def test_broken_metadata(site: Path) -> None:
    write(site / "triton-3.1.0.dist-info" / "RECORD")
    write(site / "peft-0.9.0.dist-info" / "METADATA", "Name: peft\nVersion: 0.10.0\n\n")
    write(site / "accelerate-1.0.dist-info" / "METADATA", b"\xff\xfe\x00garbage")
    write(site / "~orch-2.5.0.dist-info" / "METADATA", "Name: torch\nVersion: 2.5.0\n")
    write(site / "deepspeed-0.15.0.dist-info")  # a file where a folder should be
    told = probe(site)
    ours = [item for item in told.static["packages"] if item["origin"] == "pythonpath"]
    found = {item["name"]: (item["version"], item.get("problem")) for item in ours}
    assert found["triton"] == ("3.1.0", "no readable METADATA")
    assert found["peft"] == ("0.10.0", "METADATA says 0.10.0, the folder name 0.9.0")
    assert found["accelerate"] == ("1.0", "METADATA has no Version")
    assert found["deepspeed"] == ("0.15.0", "METADATA has no Version")
    assert told.static["leftovers"] == [str(site / "~orch-2.5.0.dist-info")]


def test_duplicates_in_search_order(site: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    dist(site, "numpy", "2.1.0")
    dist(other, "numpy", "1.26.4")
    report = probe(site, env={"PYTHONPATH": f"{other}{os.pathsep}{site}"}).report
    assert "numpy" in report.duplicates
    assert [item.version for item in report.packages or () if item.name == "numpy"][:2] == ["1.26.4", "2.1.0"]
    first = package(report, "numpy")
    assert first is not None
    assert first.version == "1.26.4"


def test_the_same_folder_twice_is_no_duplicate(site: Path, tmp_path: Path) -> None:
    dist(site, "triton", "3.1.0")
    (tmp_path / "lib64").symlink_to(site)
    told = probe(site, env={"PYTHONPATH": f"{site}{os.pathsep}{tmp_path / 'lib64'}"})
    assert [item["version"] for item in told.static["packages"] if item["origin"] == "pythonpath"] == ["3.1.0"]
    assert sum(entry["path"] in (str(site), str(tmp_path / "lib64")) for entry in told.static["path"]) == 1


def test_editable_installs(site: Path, tmp_path: Path) -> None:
    url = {"url": "file:///home/someone/src/trl", "dir_info": {"editable": True}}
    write(dist(site, "trl", "0.12.0.dev0") / "direct_url.json", json.dumps(url))
    direct = {"url": "https://user:secret@example.org/peft.whl", "archive_info": {}}
    write(dist(site, "peft", "0.13.0") / "direct_url.json", json.dumps(direct))
    source = tmp_path / "checkout"
    write(source / "vllm.egg-info" / "PKG-INFO", "Name: vllm\nVersion: 0.6.3\n")
    write(site / "vllm.egg-link", f"{source}\n.")
    told = probe(site, env={"PYTHONPATH": f"{site}{os.pathsep}{source}"})
    trl, peft = told.package("trl"), told.package("peft")
    assert (trl["editable"], trl["url"]) == (True, "file:///home/someone/src/trl")
    assert (peft["editable"], peft["url"]) == (False, "https://example.org/peft.whl")
    links = [item for item in told.static["packages"] if (item["name"], item["origin"]) == ("vllm", "pythonpath")]
    assert [(item["version"], item["editable"]) for item in links] == [(None, True), ("0.6.3", False)]
    assert links[0]["url"] == str(source)
    assert "vllm" not in told.report.duplicates


def test_shadows(site: Path, tmp_path: Path) -> None:
    job, script = tmp_path / "job", tmp_path / "script"
    for name in ("torch.py", "random.py", "os.py", "sys.py", "train.py", "random.txt"):
        write(job / name)
    write(job / "datasets" / "__init__.py")
    write(job / "numpy" / "notes.txt")  # without __init__.py it hides nothing
    write(script / ("queue" + SOABI_SUFFIX))
    write(site / "statistics.py")
    told = probe(site, "--script-dir", str(script), cwd=job)
    found = {(item["role"], item["name"], item["hides"]) for item in told.static["shadows"]}
    assert found == {
        ("cwd", "torch", "package"),
        ("cwd", "random", "stdlib"),
        ("cwd", "datasets", "package"),
        ("script", "queue", "stdlib"),
        ("pythonpath", "statistics", "stdlib"),
    }
    assert {item.path for item in told.report.shadows if item.name == "torch"} == {str(job / "torch.py")}


def test_installed_packages_in_the_current_directory_hide_nothing(site: Path) -> None:
    write(site / "numpy" / "__init__.py")
    assert [item["role"] for item in probe(site, cwd=site).static["shadows"]] == ["cwd"]
    dist(site, "numpy", "2.1.0")
    assert probe(site, cwd=site).static["shadows"] == []


def test_python_facts(site: Path) -> None:
    told = probe(site)
    python, more = told.report.python, told.static["python"]
    assert python is not None
    assert python.version == ".".join(map(str, sys.version_info[:3]))
    assert python.prefix == sys.prefix
    assert (python.kind == "venv") == (sys.prefix != sys.base_prefix)
    assert more["bits"] == 64
    assert SOABI_SUFFIX.startswith("." + more["soabi"])
    assert (more["flags"]["isolated"], more["flags"]["no_user_site"]) == (False, False)


def test_the_probe_keeps_out_of_the_way(site: Path) -> None:
    write(site / "torch" / "__init__.py", "from . import version\n")
    write(site / "torch" / "version.py", "__version__ = '2.8.0'\n")
    told = probe(site, "--import")
    assert str(PROBE.parent) not in [entry["path"] for entry in told.static["path"]]
    assert told.report.runtime is not None
    assert told.report.runtime.imported is True
    assert not list(site.rglob("__pycache__"))


def test_import_error_names_the_library(site: Path) -> None:
    message = "libamdhip64.so.6: cannot open shared object file: No such file or directory"
    write(site / "torch" / "__init__.py", f"raise OSError({message!r})\n")
    told = probe(site, "--import")
    runtime = told.report.runtime
    assert runtime is not None
    assert runtime.imported is False
    (error,) = runtime.errors
    assert (error.error_class, error.message) == ("OSError", message)
    assert told.error("import torch")["frames"] == [f"{site}/torch/__init__.py:1 <module>"]
    assert runtime.unfinished_step is None


def test_noise_on_stdout_stays_out(site: Path) -> None:
    code = "import os, sys, warnings\nprint('{\"schema\": hello')\nos.write(1, b'from C')\nos.system('echo child')\n"
    code += "sys.__stdout__.write('direct')\nwarnings.warn('old driver')\n__version__ = '2.9.0'\n"
    write(site / "torch" / "__init__.py", code)
    output = run(site, "--import")
    assert all(json.loads(line)["schema"] == "rocdoctor.probe/1" for line in output.splitlines() if line)
    told = Told(output)
    assert told.report.runtime is not None and told.report.runtime.imported is True
    assert told.value("import torch")["version"] == "2.9.0"
    (warning,) = told.step("import torch")["warnings"]
    assert (warning["class"], warning["message"]) == ("UserWarning", "old driver")


def test_half_a_line_before_the_probe_starts(site: Path) -> None:
    write(site / "sitecustomize.py", "import sys\nsys.stdout.write('loading...')\nsys.stdout.flush()\n")
    output = run(site)
    assert output.startswith('loading...\n{"schema"')
    assert Told(output).static["python"]["customised_by"] == [str(site / "sitecustomize.py")]


def test_torch_that_kills_the_process(site: Path) -> None:
    torch_wheel(site, ROCM_VERSION, "2.9.1+rocm6.4", "gfx90a gfx942")
    write(site / "torch" / "__init__.py", "import os, signal\nos.kill(os.getpid(), signal.SIGILL)\n")
    told = probe(site, "--import")
    runtime = told.report.runtime
    assert told.report.torch is not None and told.report.torch.version == "2.9.1+rocm6.4"
    assert runtime is not None
    assert (runtime.imported, runtime.unfinished_step) == (None, "import torch")
    assert not told.finished


def test_torch_that_exits(site: Path) -> None:
    write(site / "torch" / "__init__.py", "raise SystemExit(3)\n")
    told = probe(site, "--import")
    assert told.report.runtime is not None
    assert [(error.error_class, error.message) for error in told.report.runtime.errors] == [("SystemExit", "3")]
    assert told.finished


FAKE = """
class Namespace:
    def __init__(self, **values): self.__dict__.update(values)
def fail(*_): raise RuntimeError('HIP error: invalid device ordinal')
def kill(*_):
    import os, signal
    os.kill(os.getpid(), signal.SIGSEGV)
device = Namespace(name='AMD Instinct MI300X', gcnArchName='gfx942:sramecc+:xnack-', major=9, minor=4,
    total_memory=205_822_885_888, multi_processor_count=304, warp_size=64, is_integrated=0, pci_domain_id=0,
    pci_bus_id=5, pci_device_id=0, uuid='58580000-0000-0000-0000-000000000000')
__version__ = '2.9.1+rocm6.4'
version = Namespace(__version__=__version__, hip='6.4.43484', cuda=None)
cuda = Namespace(is_available=lambda: True, device_count=lambda: 2, init=lambda: None,
    get_device_properties=lambda index: device if index == 0 else fail(),
    get_arch_list=lambda: ['gfx90a', 'gfx942'], is_bf16_supported=BF16,
    nccl=Namespace(version=lambda: (2, 22, 3)), memory=Namespace(get_allocator_backend=lambda: 'native'))
backends = Namespace(cudnn=Namespace(version=lambda: 3_004_000), mps=Namespace(is_available=lambda: False))
"""


def test_a_failing_question_loses_no_other(site: Path) -> None:
    write(site / "torch" / "__init__.py", FAKE.replace("BF16", "lambda: True"))
    write(site / "torch" / "utils" / "__init__.py")
    write(site / "torch" / "utils" / "cpp_extension.py", "ROCM_HOME = '/opt/rocm'\nCUDA_HOME = None\n")
    told = probe(site, "--import")
    runtime = told.report.runtime
    assert runtime is not None
    assert (runtime.device_count, runtime.arch_list, runtime.nccl_version) == (2, ("gfx90a", "gfx942"), "2.22.3")
    (device,) = runtime.devices
    assert (device.index, device.gfx, device.vram_bytes) == (0, "gfx942", 205_822_885_888)
    assert device.bdf == "0000:05:00.0"
    assert (told.value("cudnn.version"), told.value("allocator"), told.value("bf16")) == (3_004_000, "native", True)
    assert told.value("cpp_extension") == {"ROCM_HOME": "/opt/rocm", "CUDA_HOME": None, "CUDNN_HOME": None}
    assert told.error("device.1")["message"] == "HIP error: invalid device ordinal"
    for step in ("config", "threads", "distributed"):  # the fake has none of them
        assert told.error(step)


def test_a_crash_on_the_way_keeps_what_was_told(site: Path) -> None:
    write(site / "torch" / "__init__.py", FAKE.replace("BF16", "kill"))
    runtime = probe(site, "--import").report.runtime
    assert runtime is not None
    assert runtime.unfinished_step == "bf16"
    assert len(runtime.devices) == 1


def test_static_part_never_imports_torch(site: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    write(site / "torch" / "__init__.py", f"open({str(mark)!r}, 'w')\n")
    assert probe(site).finished
    assert not mark.exists()


def test_one_file_of_the_standard_library_for_old_interpreters() -> None:
    source = PROBE.read_text()
    tree = ast.parse(source, feature_version=(3, 7))
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])
    assert imported - set(sys.stdlib_module_names) == {"torch"}
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not called & {"eval", "exec", "compile", "__import__"}
