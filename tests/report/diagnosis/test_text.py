from __future__ import annotations

from dataclasses import replace

import pytest

from rocdoctor.judging.subjects import number_ranges, subjects_text
from rocdoctor.model.facts import ComputeNode, CudaToolkit, GpuLink, Machine, Nic, TorchBuild
from rocdoctor.model.finding import Evidence, Finding, Fix, Verdict
from rocdoctor.model.subject import MACHINE
from rocdoctor.report.diagnosis.text import render
from rocdoctor.report.machine.summary import machine_lines
from tests.kit import amd_gpu, k, machine, named, nvidia_gpu
from tests.report.made import FULL, HOSTILE, NARROW, NOTE, OVERRIDE, diagnosis, failed, unspelled


def test_the_report_reads_as_designed() -> None:
    assert render(FULL, width=90) == (
        "Do first: Unset the variable\n"
        "    unset HSA_OVERRIDE_GFX_VERSION\n"
        "  because of gfx-override-mismatch on gpu 0 (below)\n"
        "\n"
        "gpu 0     AMD Instinct MI210, gfx90a, 64 GiB, driver amdgpu\n"
        "\n"
        "error   gfx-override-mismatch  gpu 0 (0000:23:00.0)\n"
        "  This GPU is gfx942, but HSA_OVERRIDE_GFX_VERSION makes it run code for gfx1030.\n"
        "    gfx942   read /sys/class/kfd/kfd/topology/nodes/1/properties:2\n"
        "    gfx1030  $HSA_OVERRIDE_GFX_VERSION\n"
        "  fix (safe): Unset the variable\n"
        "      unset HSA_OVERRIDE_GFX_VERSION\n"
        "  verify: rocdoctor check gfx-override-mismatch\n"
        "  more: rocdoctor explain gfx-override-mismatch\n"
        "\n"
        "warning pcie-link-narrow  gpu 0 (0000:23:00.0)\n"
        "  The PCIe link of this GPU has x4 of x16.\n"
        "    x4  read /sys/x:1\n"
        "  fix (manual): Reseat the card\n"
        "  verify: rocdoctor check pcie-link-narrow\n"
        "  more: rocdoctor explain pcie-link-narrow\n"
        "\n"
        "info    persistence-off  machine\n"
        "  Persistence mode is off.\n"
        "    off  run nvidia-smi -q:9\n"
        "  more: rocdoctor explain persistence-off\n"
        "\n"
        "Found: 1 error, 1 warning, 1 note. Verdicts: 1 passed, 1 unknown (not enough evidence;\n"
        "--verbose lists them), 1 not applicable, 1 crashed.\n"
        "  the check odd broke on machine: ValueError: boom\n"
        "  note: my/check.py: no function\n"
        "\n"
        "To find out more:\n"
        "  sudo dmesg | rocdoctor check --add -\n"
        "      the kernel log needs root\n"
    )


def test_quiet_leaves_what_is_wrong_and_verbose_adds_what_is_silent() -> None:
    quiet = render(FULL, quiet=True)
    assert "gfx-override-mismatch" in quiet and "pcie-link-narrow" in quiet
    for word in ("persistence-off", "MI210", "Verdicts", "To find out more"):
        assert word not in quiet
    verbose = render(FULL, verbose=True)
    assert "  unknown: ring-timeout: no kernel log in this evidence\n" in verbose
    assert "  not-applicable: mig-enabled: no NVIDIA GPU here\n" in verbose
    assert "  passed: small-bar\n" in verbose


def test_the_same_finding_on_eight_gpus_is_one() -> None:
    labels = [f"gpu {index} (0000:{index:02x}:00.0)" for index in range(8)]
    text = render(diagnosis([failed(OVERRIDE, label) for label in labels]), width=80)
    assert text.count("Each of these GPUs is gfx942") == 1
    assert "error   gfx-override-mismatch  gpu 0-7\n" in text
    assert "  at 0000:00:00.0, 0000:01:00.0" in text
    assert "0000:07:00.0" in text
    assert "Found: 1 error." in text


def test_unlike_messages_stay_apart() -> None:
    other = replace(OVERRIDE, message="This GPU is gfx90a.")
    text = render(diagnosis([failed(OVERRIDE, "gpu 0"), failed(other, "gpu 1")]))
    assert "gfx-override-mismatch  gpu 0\n" in text
    assert "gfx-override-mismatch  gpu 1\n" in text


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["gpu 0", "gpu 1", "gpu 2", "gpu 5"], "gpu 0-2,5"),
        (["gpu 10", "gpu 9", "gpu 2"], "gpu 2,9-10"),
        (["gpu 3 (0000:c1:00.0)"], "gpu 3 (0000:c1:00.0)"),
        (["gpu 1 (0000:23:00.0)", "gpu 0 (0000:03:00.0)"], "gpu 0-1 (0000:03:00.0, 0000:23:00.0)"),
        (["gpu 0 (nvidia-smi 6)"], "gpu 0 (nvidia-smi 6)"),
        (["mlx5_0", "gpu 0"], "mlx5_0, gpu 0"),
        (["machine", "machine"], "machine"),
        ([], ""),
    ],
)
def test_subjects_are_named_in_few_words(labels: list[str], words: str) -> None:
    assert subjects_text(map(named, labels)) == words


def test_number_ranges_take_any_order_and_doubles() -> None:
    assert number_ranges([3, 1, 2, 2, 7]) == "1-3,7"


@pytest.mark.parametrize("width", [60, 72, 80, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    long = Finding(
        "warning",
        "A sentence that goes on and on, " * 6 + "and ends.",
        tuple(
            Evidence(f"value {number} " * 9, "read /sys/devices/a file/with some words", number) for number in range(6)
        ),
        Fix("Do this and that until it is done, " * 4, safety="risky", effective="reboot"),
        cause="pcie-link-degraded",
    )
    labels = [f"gpu {index} (0000:{index:02x}:00.0)" for index in range(16)]
    verdicts = [failed(long, label, "pcie-link-narrow") for label in labels]
    verdicts += [Verdict("a-check", named(label), "unknown", why="many words of a reason " * 5) for label in labels]
    verdicts += [failed(NARROW, f"interface-{number}", "nic") for number in range(30)]
    gpus = [nvidia_gpu(index, bdf=f"0000:{index:02x}:00.0") for index in range(16)]
    text = render(diagnosis(verdicts, machine(*gpus), problems=("a problem " * 20,)), width=width, verbose=True)
    wide = [line for line in text.splitlines() if len(line) > width]
    assert not wide
    assert "... and 2 more" in text


def test_a_path_or_command_is_never_broken() -> None:
    path = "/sys/" + "x" * 120
    found = replace(NARROW, evidence=(Evidence("x4", f"read {path}", 3),), fix=Fix("Try", command="echo " + "y " * 60))
    text = render(diagnosis([failed(found, "gpu 0")]), width=60)
    assert f"{path}:3" in text
    assert "echo " + "y " * 60 in text


def test_a_reboot_is_said_once_and_a_new_login_is_said() -> None:
    def fix_line(fix: Fix) -> str:
        text = render(diagnosis([failed(replace(OVERRIDE, fix=fix), "gpu 0")]))
        return next(line for line in text.splitlines() if line.startswith("  fix"))

    assert fix_line(Fix("Reboot", safety="reboots", effective="reboot")) == "  fix (reboots): Reboot"
    assert fix_line(Fix("Edit", safety="manual", effective="reboot")) == "  fix (manual, needs a reboot): Edit"
    assert fix_line(Fix("Join", safety="safe", effective="new-login")) == "  fix (safe, needs a new login): Join"


def test_no_word_depends_on_colour() -> None:
    coloured = render(FULL, colour=True)
    assert "\x1b[31;1merror" in coloured
    import re

    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render(FULL)


def test_escape_sequences_from_evidence_never_reach_the_terminal() -> None:
    found = Finding(
        "error",
        f"Said {HOSTILE}.",
        (Evidence(HOSTILE, f"read /x{HOSTILE}", 1),),
        Fix(HOSTILE, command=f"run {HOSTILE}", verify=HOSTILE),
        cause="not-environment",
    )
    hostile_machine = machine(
        amd_gpu(name=HOSTILE, driver=HOSTILE), network=(Nic(HOSTILE, "ethernet"),), torch=TorchBuild(version=k(HOSTILE))
    )
    verdicts = [
        failed(found, HOSTILE),
        Verdict("x", named(HOSTILE), "crashed", why=HOSTILE),
        Verdict("y", named("m"), "unknown", why=HOSTILE),
    ]
    text = render(diagnosis(verdicts, hostile_machine, problems=(HOSTILE,)), verbose=True)
    assert not [char for char in text if (ord(char) < 32 and char != "\n") or 127 <= ord(char) < 160]
    assert "\u202e" not in text and "title" not in unspelled(text) and "ZXZpbA" not in unspelled(text)
    text.encode("utf-8")


def test_a_value_of_several_lines_stays_in_its_row() -> None:
    text = render(diagnosis([failed(replace(NARROW, evidence=(Evidence("two\nlines", "read /x"),)), "gpu 0")]))
    assert "    two lines  read /x\n" in text


# -- the headline


def test_the_headline_says_what_kind_of_nothing_it_is() -> None:
    passed, unknown = Verdict("a", MACHINE, "pass"), Verdict("b", MACHINE, "unknown", why="no log")
    assert render(diagnosis([passed])).startswith("Nothing to fix.\n")
    little = render(diagnosis([passed, unknown, unknown]))
    assert little.startswith("Found nothing wrong, but this evidence shows little: 2 verdicts are unknown, 1 passed.")
    none = render(diagnosis([passed], machine()))
    assert none.startswith("Nothing to fix. No AMD or NVIDIA GPU here")
    excerpt = render(diagnosis([passed], Machine()))
    assert excerpt.startswith("Nothing to fix in this evidence. It shows no AMD or NVIDIA GPU.")
    assert "GPU       none in this evidence" in excerpt


def test_notes_alone_are_nothing_to_fix() -> None:
    assert render(diagnosis([failed(NOTE, "machine"), Verdict("a", MACHINE, "pass")])).startswith("Nothing to fix.\n")


def test_a_finding_without_a_cause_still_leads() -> None:
    found = replace(NARROW, cause="")
    assert render(diagnosis([failed(found, "gpu 0", "x")])).startswith(
        "Do first: Reseat the card\n  because of x on gpu 0"
    )


# -- the machine card


def test_equal_gpus_are_one_line_also_when_another_stands_between() -> None:
    gpus = (nvidia_gpu(0), amd_gpu(1), nvidia_gpu(2))
    lines = machine_lines(machine(*gpus))
    assert lines[0] == "gpu 0,2   2 x NVIDIA H100 80GB HBM3, sm_90, 80 GiB, driver nvidia"
    assert lines[1] == "gpu 1     AMD Instinct MI210, gfx90a, 64 GiB, driver amdgpu"


def test_a_driver_with_a_version_has_its_own_line() -> None:
    drivers = {"nvidia": {"version": k("565.57.01"), "cuda": k("12.7")}, "amdgpu": {"version": k("6.10.5")}}
    cuda = (CudaToolkit(k("12.4"), "/usr/local/cuda-12.4"),)
    lines = machine_lines(machine(nvidia_gpu(), drivers=drivers, cuda_toolkits=cuda))
    assert lines == [
        "gpu 0     NVIDIA H100 80GB HBM3, sm_90, 80 GiB",
        "driver    nvidia 565.57.01 (for CUDA up to 12.7), amdgpu 6.10.5",
        "CUDA      12.4 (/usr/local/cuda-12.4)",
    ]


def test_what_is_unusual_of_a_gpu_is_told() -> None:
    (line,) = machine_lines(machine(nvidia_gpu(driver=None, mig=True, mig_devices=7)))
    assert line.endswith("80 GiB, no driver bound, MIG with 7 devices")
    (line,) = machine_lines(machine(nvidia_gpu(driver="vfio-pci", integrated=True)))
    assert line.endswith("driver vfio-pci, integrated")


def test_dies_and_partitions_are_not_taken_for_cards() -> None:
    dies = machine_lines(machine(*(amd_gpu(at, pci_id="1002:7408", name="AMD Instinct MI250X") for at in range(2))))
    assert "2 x AMD Instinct MI250X, gfx90a, 64 GiB, driver amdgpu, each a die (GCD) of a card with two" in " ".join(
        dies[0].split()
    )
    parts = tuple(ComputeNode(k(at + 2)) for at in range(8))
    cut = [amd_gpu(at, compute_nodes=parts, driver=None) for at in range(2)]
    assert "no driver bound, 16 partitions, each a GPU to programs" in machine_lines(machine(*cut))[0]
    (whole,) = machine_lines(machine(amd_gpu(compute_nodes=parts[:1])))[:1]
    assert "partition" not in whole and "GCD" not in whole


def test_links_are_counted_by_kind() -> None:
    links = (GpuLink(0, 1, "xgmi"), GpuLink(0, 2, "pcie"), GpuLink(1, 2, "pcie"))
    lines = machine_lines(machine(amd_gpu(0), amd_gpu(1), amd_gpu(2), links=links))
    assert lines[1] == "links     1 of 3 pairs connected by XGMI, 2 of 3 pairs connected by PCIe"


def test_of_a_pasted_text_the_cause_stands_first_and_the_first_step_is_short() -> None:
    fix = Fix("Unset it and remove it from the profile. Only if torch has no code for it, try another value", "unset X")
    made = diagnosis([failed(replace(OVERRIDE, fix=fix, confidence="likely", cause="hsa-override-wrong"), "gpu 0")])
    lines = render(made, pasted=True).split("\n")
    assert lines[0].startswith("Likely cause: This GPU is gfx942")
    assert "Do first: Unset it and remove it from the profile" in lines
    assert "    unset X" in lines
    assert "Only if torch has no code" in "\n".join(lines[4:])
    assert "cannot tell from this text" in render(FULL, pasted=True)
    assert "Verdicts" not in render(FULL, pasted=True)


def test_of_a_pasted_text_without_a_fault_it_says_so() -> None:
    assert render(diagnosis([]), pasted=True).startswith("Nothing in this text points to a fault of the machine")
