"""What pasted texts tell of a machine. Samples are constructed, or transcribed from what the programs print."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.collect import collect
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.paste import open_text


def read(text: str) -> Machine:
    return collect(open_text(text, "test"))


def cards(text: str) -> list[tuple[str, str | None]]:
    return [
        (value_or(gpu.name, "?"), value_or(gpu.gfx, None) or value_or(gpu.compute_capability, None))
        for gpu in read(text).gpus
    ]


def variables(text: str) -> dict[str, str]:
    return {name: one.value for name, one in read(text).environment.variables.items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It crashes on my RX 6700 XT.", [("AMD Radeon RX 6700 XT", "gfx1031")]),
        ("GPU: 7900xtx", [("AMD Radeon RX 7900 XTX", "gfx1100")]),
        ("8 x MI210, each idle", [("AMD Instinct MI210", "gfx90a")] * 8),
        ("gfx1103 (Radeon 780M)", [("AMD Radeon 780M Graphics", "gfx1103")]),
        ("the card is gfx1031", [("?", "gfx1031")]),
        ("GPU: AMD Radeon RX 6600 (amdgcn-amd-amdhsa--gfx1032)", [("AMD Radeon RX 6600", "gfx1032")]),
        ("My 1080 Ti is not used", [("GeForce GTX 1080 Ti", "6.1")]),
        ("Lenovo with an RTX 3060 laptop GPU", [("RTX 3060 Laptop GPU", None)]),
        ("RX 580, Ubuntu 20.04", [("RX 580", "gfx803")]),
        ("Two RX 7900 XTX in one machine", [("AMD Radeon RX 7900 XTX", "gfx1100")] * 2),
        ("RTX 5090 with CUDA capability sm_120 is not compatible", [("RTX 5090", "12.0")]),
        ("gfx908 and gfx1030 in one box", [("?", "gfx908"), ("?", "gfx1030")]),
        ("My RX 6600 is slower than an RTX 3060.", [("AMD Radeon RX 6600", "gfx1032")]),
        ("The job runs on 2 x MI250X and hangs.", [("AMD Instinct MI250X", "gfx90a")] * 2),
        ("My friend has a 4090 and there it works. I have a Radeon Pro W7900.", [("AMD Radeon PRO W7900", "gfx1100")]),
        ("Hangs on my MI210 box. On my other machine with a RTX 3090 it is fine.", [("AMD Instinct MI210", "gfx90a")]),
        ("It works on a 3090 Ti.", []),
        ("ROCm supports gfx900, gfx906, gfx908 and gfx90a.", []),
        ('cmake -DAMDGPU_TARGETS="gfx906;gfx908" fails on my MI100', [("AMD Instinct MI100", "gfx908")]),
        ("CPU: AMD Ryzen 5 3400G with Radeon Vega Graphics", [("Radeon Vega Graphics", None)]),
        ("CPU: AMD Ryzen 9 7900X", []),
        ("no GPU is named here, GPU 0 of 8, 4090 steps done", []),
    ],
)
def test_cards_in_sentences(text: str, expected: list[tuple[str, str | None]]) -> None:
    assert cards(text) == expected


def test_a_graphics_core_named_with_a_processor_is_integrated() -> None:
    (gpu,) = read("CPU: AMD Ryzen 5 3400G with Radeon Vega Graphics").gpus
    assert value_or(gpu.integrated, None) is True


def test_a_card_in_words_fills_gaps_of_the_one_that_the_log_shows_and_adds_none() -> None:
    text = (
        "The Radeon RX 7900 XTX is not seen:\n\n"
        "    [    7.243101] [drm] Initialized amdgpu 3.54.0 20150101 for 0000:01:00.0 on minor 0\n"
    )
    (gpu,) = read(text).gpus
    assert value_or(gpu.bdf, None) == "0000:01:00.0"
    assert value_or(gpu.gfx, None) == "gfx1100"
    assert isinstance(gpu.gfx, Known)
    assert str(gpu.gfx.source) == "text:1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("With HSA_OVERRIDE_GFX_VERSION=10.3.0 it crashes.", {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}),
        ("```\nexport HIP_VISIBLE_DEVICES=0,1\n```", {"HIP_VISIBLE_DEVICES": "0,1"}),
        ("    user@box:~$ NCCL_DEBUG=INFO python train.py", {"NCCL_DEBUG": "INFO"}),
        ('os.environ["CUDA_LAUNCH_BLOCKING"] = "1"', {"CUDA_LAUNCH_BLOCKING": "1"}),
        ("docker run -e HSA_OVERRIDE_GFX_VERSION=11.0.0 image", {"HSA_OVERRIDE_GFX_VERSION": "11.0.0"}),
        ('env:\n- name: NCCL_SOCKET_IFNAME\n  value: "eth0"\n', {"NCCL_SOCKET_IFNAME": "eth0"}),
        ("  environment:\n    - ROCR_VISIBLE_DEVICES=1\n", {"ROCR_VISIBLE_DEVICES": "1"}),
        ("h:1:2 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0", {"NCCL_SOCKET_IFNAME": "eth0"}),
        ("$ export HIP_VISIBLE_DEVICES=1\n$ unset HIP_VISIBLE_DEVICES", {}),
        ("You could try setting HSA_OVERRIDE_GFX_VERSION=10.3.0.", {}),
        ("Should I set HSA_OVERRIDE_GFX_VERSION=10.3.0?", {}),
        ("For debugging consider passing CUDA_LAUNCH_BLOCKING=1.", {}),
        ("I tried HSA_OVERRIDE_GFX_VERSION=11.0.0, did not help.", {}),
        ("I also tried:\n\n```\nexport NCCL_P2P_DISABLE=1\n```\n\nbut it did not help", {}),
        ("I have not set HSA_OVERRIDE_GFX_VERSION=10.3.0.", {}),
        ("On my other machine NCCL_P2P_DISABLE=1 is set.", {}),
        ("mine\n\n> @bob wrote:\n> export HSA_OVERRIDE_GFX_VERSION=10.3.0\n", {}),
        ("HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed", {}),
        ("set HSA_OVERRIDE_GFX_VERSION=<your version>", {}),
    ],
)
def test_variables_that_are_set_now(text: str, expected: dict[str, str]) -> None:
    assert variables(text) == expected


def test_what_is_not_used_is_still_recorded_with_its_role_and_lines() -> None:
    host = open_text(
        "RX 6800\n\nI tried HSA_OVERRIDE_GFX_VERSION=11.0.0, did not help.\nYou can set NCCL_DEBUG=INFO.", "x"
    )
    roles = {(part.role, part.question, part.first) for part in host.recognised}
    assert ("tried", "env", 3) in roles
    assert ("advice", "env", 4) in roles
    assert not host.ask("env").ok


@pytest.mark.parametrize(
    ("text", "os_id", "version"),
    [
        ("OS: Ubuntu 22.04.3 LTS (Jammy Jellyfish)", "ubuntu", "22.04.3"),
        ("### Operating System\n\nRed Hat Enterprise Linux 9.4\n", "rhel", "9.4"),
        ("| OS | Debian 12 |", "debian", "12"),
        ("OS: KDE neon User Edition (Ubuntu 24.04)", "neon", "24.04"),
        ("I run it on NixOS 25.11.", "nixos", "25.11"),
        ("The driver of the Ubuntu packages is fine.", None, None),
    ],
)
def test_systems_in_words(text: str, os_id: str | None, version: str | None) -> None:
    system = read(text).os
    assert (value_or(system.id, None), value_or(system.version_id, None)) == (os_id, version)


def test_versions_in_words_and_those_that_worked_before() -> None:
    machine = read("ROCm 5.7.1 worked. After installing ROCm 6.0 on kernel 6.5.0-28-generic it fails. Python 3.11.")
    assert [value_or(one.version, None) for one in machine.rocm] == ["6.0"]
    assert value_or(machine.kernel.release, None) == "6.5.0-28-generic"
    assert value_or(machine.torch.python, None) == "3.11"
    assert read("gfx1103, ROCm 7.2 wheels").rocm == ()


def test_roots_in_messages_are_installations() -> None:
    machine = read(
        'File "/opt/rocm-7.1.1/libexec/x.py"\nImportError: /opt/rocm-7.0.1/lib/libamd_smi.so: undefined symbol: x'
    )
    assert {one.root for one in machine.rocm} == {"/opt/rocm-7.1.1", "/opt/rocm-7.0.1"}


COLLECT_ENV = """Collecting environment information...
PyTorch version: 2.5.1+rocm6.2
CUDA used to build PyTorch: N/A
ROCM used to build PyTorch: 6.2.41133-dd7f95766

OS: Ubuntu 22.04.5 LTS (x86_64)
Python version: 3.10.12 (main, Nov  6 2024, 20:22:13) [GCC 11.4.0] (64-bit runtime)
Python platform: Linux-6.8.0-49-generic-x86_64-with-glibc2.35
Is CUDA available: True
GPU models and configuration: AMD Instinct MI210 (gfx90a:sramecc+:xnack-)
Nvidia driver version: Could not collect
HIP runtime version: 6.2.41133

Versions of relevant libraries:
[pip3] torch==2.5.1+rocm6.2
[pip3] torchvision==0.20.1+rocm6.2
"""


def test_collect_env_gives_torch_system_and_gpu() -> None:
    machine = read("Here is what you asked for\n\n" + COLLECT_ENV + "\nThanks for looking at this one.\n")
    torch = machine.torch
    assert value_or(torch.version, None) == "2.5.1+rocm6.2"
    assert value_or(torch.hip, None) == "6.2.41133"
    assert torch.cuda == Known(None, torch.cuda.source)  # type: ignore[arg-type]
    assert value_or(torch.packages, {})["torchvision"] == "0.20.1+rocm6.2"
    assert value_or(torch.python, None) == "3.10.12"
    assert value_or(machine.kernel.release, None) == "6.8.0-49-generic"
    assert value_or(machine.os.version_id, None) == "22.04.5"
    assert [value_or(gpu.gfx, None) for gpu in machine.gpus] == ["gfx90a"]
    assert "nvidia" not in machine.drivers


def test_packages_and_printed_versions() -> None:
    assert value_or(read("$ pip list | grep torch\ntorch   2.1.0+cu121\ntorchvision 0.16.0").torch.cuda, None) == "12.1"
    shown = read(">>> torch.__version__\n'2.0.1+cpu'\n>>> torch.cuda.is_available()\nFalse").torch
    assert value_or(shown.version, None) == "2.0.1+cpu"
    assert value_or(shown.cuda, "unknown") is None


def test_the_outputs_of_commands_go_to_their_questions() -> None:
    text = """user@box:~$ ls -l /dev/kfd
crw-rw---- 1 root render 235, 0 Nov  1 10:00 /dev/kfd
user@box:~$ groups
user adm video
root@box:/# ulimit -a
max locked memory       (kbytes, -l) 64
user@box:~$ df -h /dev/shm
Filesystem      Size  Used Avail Use% Mounted on
shm              64M     0   64M   0% /dev/shm
user@box:~$ uname -r
6.8.0-45-generic
"""
    machine = read(text)
    (kfd,) = [node for node in machine.nodes if node.path == "/dev/kfd"]
    assert (value_or(kfd.group, None), value_or(kfd.mode, None)) == ("render", "0660")
    assert value_or(machine.user.groups, None) == ("user", "adm", "video")
    assert value_or(machine.user.memlock_bytes, 0) == 65536
    assert value_or(machine.memory.shm_bytes, None) == 64 * 2**20
    assert value_or(machine.kernel.release, None) == "6.8.0-45-generic"


def test_how_a_container_was_started() -> None:
    machine = read(
        "    docker run -it --device=/dev/kfd --device /dev/dri \\\n      --group-add video --shm-size=8g "
        "rocm/pytorch:latest\n"
    )
    options = value_or(machine.container.options, {})
    assert value_or(machine.container.kind, None) == "docker"
    assert options["device"] == ("/dev/kfd", "/dev/dri")
    assert options["group-add"] == ("video",)
    assert options["image"] == ("rocm/pytorch:latest",)
    assert value_or(machine.memory.shm_bytes, None) == 8 * 2**30


def test_of_a_working_and_a_failing_state_the_failing_one_counts() -> None:
    text = (
        "Before the update:\n\n```\n$ rocminfo\nROCk module version 6.7.0 is loaded\n```\n\n"
        "After the update it fails:\n\n```\n$ rocminfo\nROCk module is NOT loaded, possibly no GPU devices\n```\n"
    )
    for sample in (text, "\n\n".join(reversed(text.split("\n\nAfter")))):
        assert "NOT loaded" in open_text(sample if "NOT" in sample else text, "x").ask("run rocminfo").text


@pytest.mark.parametrize("change", ["quoted", "windows", "among logs"])
def test_the_same_facts_however_it_was_pasted(change: str) -> None:
    text = COLLECT_ENV + "\n```\n$ export HIP_VISIBLE_DEVICES=0\n```\n"
    noise = "".join(f"2024-01-01 10:00:00 INFO step={number} loss=2.1\n" for number in range(500))
    other = {
        "quoted": "> " + text.replace("\n", "\n> "),
        "windows": text.replace("\n", "\r\n"),
        "among logs": noise + "\n" + text + "\n" + noise,
    }
    one, two = read(text), read(other[change])
    assert next(gpu.gfx for gpu in one.gpus if isinstance(gpu.gfx, Known)).value == "gfx90a"
    assert [value_or(gpu.gfx, None) for gpu in two.gpus] == ["gfx90a"]
    assert value_or(two.torch.version, None) == value_or(one.torch.version, None)
    assert {name: v.value for name, v in two.environment.variables.items()} == {"HIP_VISIBLE_DEVICES": "0"}


PIECES = st.sampled_from(
    [
        *COLLECT_ENV.split("\n"),
        "$ rocminfo",
        "```",
        "> ",
        "docker run -e A_B=1 \\",
        "RX 6700 XT gfx1031",
        "| a | b |",
        "export X_Y=1",
        "\n",
        "[ 1.000000] amdgpu: x",
        "GPU[0] : x",
        "lspci",
        "CA 'mlx5_0'",
    ]
)


@given(st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=40).map("\n".join)))
def test_any_text_never_raises(text: str) -> None:
    read(text)


@pytest.mark.parametrize(
    "unit",
    ["> ", "`", "<tr>", "A_B=", "docker run -e ", "gfx1 ", "$ ", "RX ", "a_B: ", "/opt/rocm-", "((", "export A_B=1 "],
)
def test_long_lines_of_one_kind_end(unit: str) -> None:
    read(unit * (200_000 // len(unit)))
    read((unit + "\n") * 20_000)


def test_a_map_of_variables_as_go_prints_it() -> None:
    text = (
        'level=INFO msg="server config" env="map[CUDA_VISIBLE_DEVICES: HIP_VISIBLE_DEVICES:1 HSA_OVERRIDE_GFX_VERSION: '
        'OLLAMA_HOST:http://0.0.0.0:11434 ROCR_VISIBLE_DEVICES: http_proxy: no_proxy:]"'
    )
    assert variables(text).get("HIP_VISIBLE_DEVICES") == "1"
    assert not {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION"} & variables(text).keys()
    rest = "ROCR_VISIBLE_DEVICES: GPU_DEVICE_ORDINAL:0 http_proxy: no_proxy:]"
    assert variables(f"{text[:90]}\n{rest}\n").get("GPU_DEVICE_ORDINAL") == "0"
    assert variables("CUDA_VISIBLE_DEVICES: HIP_VISIBLE_DEVICES: -") == {}


def test_what_others_say_of_a_variable_is_not_set() -> None:
    assert variables("Three threads say HSA_OVERRIDE_GFX_VERSION=11.0.0 is needed.") == {}
    assert variables("I moved the script from my old server: HSA_OVERRIDE_GFX_VERSION=11.0.0 is in it.") == {
        "HSA_OVERRIDE_GFX_VERSION": "11.0.0"
    }


def test_the_name_of_a_card_is_surer_than_the_target_that_an_override_made() -> None:
    assert cards("Device 0: AMD Radeon RX 7600, gfx1100 (0x1100)") == [("AMD Radeon RX 7600", "gfx1102")]


def test_a_target_of_processors_alone_is_integrated() -> None:
    gpus = read("HSA Agents\nROCk module is loaded\nAgent 2\n  Name: gfx1035\n  Device Type: GPU\n").gpus
    assert [value_or(gpu.integrated, None) for gpu in gpus] == [True]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("With TORCH_DISTRIBUTED_DEBUG=DETAIL:\n\nRuntimeError: Detected mismatch\n", {}),
        ("Running it with CUDA_LAUNCH_BLOCKING=1 the traceback points to F.embedding.", {}),
        ("I set AMD_LOG_LEVEL=4 and got:\n\n:3:hip_module.cpp\n", {}),
        ("We train with CUDA_LAUNCH_BLOCKING=1 since last year and it is slow.", {"CUDA_LAUNCH_BLOCKING": "1"}),
        ("With HSA_OVERRIDE_GFX_VERSION=10.3.0:\n\nok\n", {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}),
        ("export HIP_LAUNCH_BLOCKING=1\npython train.py\n", {"HIP_LAUNCH_BLOCKING": "1"}),
    ],
)
def test_a_switch_set_for_one_run_to_see_more_is_not_left_on(text: str, expected: dict[str, str]) -> None:
    assert variables(text) == expected


def test_a_kernel_that_a_sentence_says_was_updated() -> None:
    for text in ("Since the kernel went to 6.8 X does not start.", "After the kernel was updated to 6.8 it fails."):
        assert value_or(read(text).kernel.release, None) == "6.8", text


def test_a_kernel_at_the_end_of_a_sentence_has_no_full_stop() -> None:
    machine = read("My RX 9060 XT is in Ubuntu 22.04 with kernel 6.5.0-35-generic.")
    assert value_or(machine.kernel.release, None) == "6.5.0-35-generic"
