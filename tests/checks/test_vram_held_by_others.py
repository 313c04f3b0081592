from __future__ import annotations

from rocdoctor.model.facts import Container, Cpus, GpuHolder, GpuHolders, GpuProcess, User
from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, severities, states

NAME = "vram-held-by-others"


def test_an_empty_card_a_desktop_and_a_busy_card_pass() -> None:
    for used, busy in ((10 << 20, 0), (700 << 20, 2), (60 << 30, 97)):
        assert states(judge(NAME, machine(amd_gpu(vram_used_bytes=used, busy_percent=busy)))) == ["pass"]


def test_memory_without_a_process_is_a_warning() -> None:
    gpu = nvidia_gpu(vram_used_bytes=62 << 30, busy_percent=0, processes=())
    (verdict,) = judge(NAME, machine(gpu))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("warning", "out-of-memory")
    assert "62 of 80 GiB of GPU memory is in use" in verdict.finding.message
    assert "no process is listed" in verdict.finding.message
    assert verdict.finding.fix is not None
    assert "/dev/nvidia*" in verdict.finding.fix.command


def test_in_a_container_the_list_is_always_empty() -> None:
    gpu = nvidia_gpu(vram_used_bytes=62 << 30, busy_percent=0, processes=())
    assert severities(judge(NAME, machine(gpu, container=Container(kind=k("docker"))))) == ["info"]


def test_listed_processes_or_an_unknown_list_make_it_a_note() -> None:
    held = GpuProcess(k(61 << 30))
    listed = nvidia_gpu(vram_used_bytes=62 << 30, busy_percent=0, processes=(held,))
    (verdict,) = judge(NAME, machine(listed))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("info", "")
    assert "one process listed" in verdict.finding.message
    assert severities(judge(NAME, machine(amd_gpu(vram_used_bytes=60 << 30, busy_percent=0)))) == ["info"]


def test_a_share_is_enough_where_no_bytes_are_known() -> None:
    (verdict,) = judge(NAME, machine(amd_gpu(vram_used_percent=75, busy_percent=0)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "75 % of the GPU memory" in verdict.finding.message
    assert states(judge(NAME, machine(amd_gpu(vram_used_percent=12, busy_percent=0)))) == ["pass"]


def test_unknown_use_or_load_is_unknown_and_an_apu_is_not_judged() -> None:
    assert states(judge(NAME, machine(amd_gpu()))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(vram_used_bytes=60 << 30)))) == ["unknown"]
    apu = amd_gpu(integrated=True, vram_used_bytes=60 << 30, busy_percent=0)
    assert states(judge(NAME, machine(apu))) == ["not-applicable"]


def test_a_list_that_may_leave_processes_of_others_out_makes_it_a_note() -> None:
    """A served model of another user is nobody's left-over."""
    gpu = amd_gpu(vram_used_bytes=50 << 30, busy_percent=0, processes=())
    assert severities(judge(NAME, machine(gpu, user=User(uid=k(1000))))) == ["info"]
    assert severities(judge(NAME, machine(gpu, user=User(uid=k(0))))) == ["warning"]
    superchip = nvidia_gpu(vram_used_bytes=62 << 30, busy_percent=0, processes=(), name="NVIDIA GH200 480GB")
    assert severities(judge(NAME, machine(superchip, cpus=Cpus(arch=k("aarch64"))))) == ["info"]


SERVER = GpuHolder(4711, "ollama", ("/dev/dri/renderD128", "/dev/kfd"), 93_600, 2)
OTHER = GpuHolder(4712, "python3", ("/dev/dri/renderD129",), 60)


def test_processes_that_have_the_gpu_open_are_named_in_the_evidence() -> None:
    gpu = amd_gpu(vram_used_bytes=50 << 30, busy_percent=0, render_minor=128)
    holders = k(GpuHolders((OTHER, SERVER), hidden=3), "holders gpu")
    (verdict,) = judge(NAME, machine(gpu, holders=holders))
    assert verdict.finding is not None
    assert "one process has it open" in verdict.finding.message
    named = [one.value for one in verdict.finding.evidence if "process" in one.value]
    assert named == ["process 4711 (ollama) has it open, running for 26 h"]


def test_a_process_that_the_tools_do_not_list_is_no_left_over() -> None:
    gpu = nvidia_gpu(vram_used_bytes=62 << 30, busy_percent=0, processes=())
    mine = GpuHolder(5, "trtserver", ("/dev/nvidia0",), 7)
    (verdict,) = judge(NAME, machine(gpu, holders=k(GpuHolders((mine, OTHER)))))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("info", "")
    assert "the tools list no process; one process has it open" in verdict.finding.message
    two = machine(gpu, nvidia_gpu(1), holders=k(GpuHolders((mine,))))
    assert severities(judge(NAME, two)[:1]) == ["warning"], "whose node it is is not known"
