"""Accessors on cases that were looked up in the cited sources, the ambiguous ones above all."""

from __future__ import annotations

import pytest

from rocdoctor.knowledge import lookup
from rocdoctor.knowledge.load import numbers
from rocdoctor.knowledge.software.compat import meets


def ids(found: tuple[lookup.GpuProfile, ...]) -> list[str]:
    return [one.id for one in found]


def test_a_card_is_found_by_id_and_revision() -> None:
    card = lookup.gpu_profile("amd", 0x744C, 0xC8)
    assert card is not None and card.id == "rx-7900-xtx"
    assert card.gfx == "gfx1100"
    assert card.compute_units is not None and card.compute_units.value == 96 and card.compute_units.kind == "primary"
    assert card.mem_bandwidth_gb_s is not None and card.mem_bandwidth_gb_s.kind != "primary"
    assert card.override is not None and card.override.advice == "not-needed"


def test_ids_may_be_text_and_vendors_numbers() -> None:
    assert lookup.gpu_profile("0x1002", "0x744C", "0xcc") == lookup.gpu_profile("amd", 0x744C, 0xCC)
    hopper = lookup.gpu_profile("10de", "2330")
    assert hopper is not None and hopper.id == "h100-sxm" and hopper.compute_capability == "9.0"


def test_an_id_without_its_revision_stays_open_but_the_target_is_known() -> None:
    assert lookup.gpu_profile("amd", 0x744C) is None
    assert len(lookup.gpu_candidates("amd", 0x744C)) == 4
    assert lookup.gfx_of_device(0x744C) == "gfx1100"


def test_an_unknown_revision_names_no_card() -> None:
    assert lookup.gpu_candidates("amd", 0x744C, 0x99) == ()
    assert lookup.gfx_of_device(0x744C, 0x99) == "gfx1100"


@pytest.mark.parametrize(("units", "wanted"), [(110, "mi250x"), (104, "mi250")])
def test_mi250x_and_mi250_share_an_id_and_differ_by_units_per_die(units: int, wanted: str) -> None:
    assert lookup.gpu_profile("amd", 0x740C, 1) is None
    found = lookup.gpu_profile("amd", 0x740C, 1, compute_units=units)
    assert found is not None and found.id == wanted and found.dies == 2
    assert found.compute_units is not None and found.compute_units.value == 2 * units
    assert found.compute_units.per_device == units
    assert found.vram_gib is not None and found.vram_gib.per_device == 64


def test_mi60_and_both_mi50_share_an_id() -> None:
    assert ids(lookup.gpu_candidates("amd", 0x66A1, 2)) == ["mi60", "mi50-32", "mi50-16"]
    assert ids(lookup.gpu_candidates("amd", 0x66A1, 2, compute_units=64)) == ["mi60"]
    assert ids(lookup.gpu_candidates("amd", 0x66A1, 2, compute_units=60)) == ["mi50-32", "mi50-16"]
    found = lookup.gpu_profile("amd", 0x66A1, 2, compute_units=60, vram_gib=15.98)
    assert found is not None and found.id == "mi50-16"
    pro = lookup.gpu_profile("amd", 0x66A1, 6)
    assert pro is not None and pro.id == "pro-vii"


def test_a_partition_with_few_units_does_not_hide_the_card() -> None:
    found = lookup.gpu_profile("amd", 0x74A1, 0, compute_units=38, vram_gib=24)
    assert found is not None and found.id == "mi300x"
    assert found.compute_partitions == ("SPX", "DPX", "QPX", "CPX")


def test_variants_of_one_profile_have_no_single_figure() -> None:
    graphics = lookup.gpu_profile("amd", 0x15BF, 0xC2)
    assert graphics is not None and graphics.integrated and graphics.gfx == "gfx1103"
    assert graphics.compute_units is not None and graphics.compute_units.value is None
    assert set(graphics.compute_units.values) == {4, 8, 12}
    assert graphics.vram_gib is None


def test_disputed_figures_are_marked() -> None:
    card = lookup.gpu_profile("amd", 0x75A3, 0)
    assert card is not None and card.xgmi is not None and card.xgmi.gb_s_per_link is not None
    assert card.xgmi.gb_s_per_link.uncertain
    assert card.xgmi.speed_gt_s is None


def test_unknown_devices_are_none() -> None:
    assert lookup.gpu_profile("amd", 0xFFFF) is None
    assert lookup.gpu_profile("intel", 0xE20B) is None
    assert lookup.gpu_profile("10de", 0x744C) is None


def test_old_chips_are_known_by_id() -> None:
    assert lookup.gfx_of_device(0x67DF) == "gfx803"
    pitcairn = lookup.chip_of_device("6818")
    assert pitcairn is not None and pitcairn.chip == "pitcairn" and not pitcairn.kfd
    assert lookup.gfx_of_device(0x6818) is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("two RX 7900XTX cards", ["rx-7900-xtx"]),
        ("Navi 31 [Radeon RX 7900 XT]", ["rx-7900-xt"]),
        ("AMD Instinct MI250X / MI250", ["mi250x", "mi250"]),
        ("AMD Instinct MI60 / MI50", ["mi60", "mi50-32", "mi50-16"]),
        ("radeon rx 7600 XT vs RX-7600", ["rx-7600-xt", "rx-7600"]),
        ("NVIDIA H100 80GB HBM3", ["h100-sxm"]),
        ("an a100 node", ["a100-sxm-40", "a100-sxm-80", "a100-pcie-40", "a100-pcie-80"]),
        ("NVIDIA GeForce RTX 4090", ["rtx-4090"]),
        ("Strix Halo (Radeon 8060S)", ["radeon-8060s"]),
    ],
)
def test_names_in_text(text: str, wanted: list[str]) -> None:
    assert ids(lookup.profiles_by_name(text)) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "port 7600 is open",
        "Ryzen 5 7600X",
        "i7-6700",
        "RTX 4070 Laptop GPU",
        "RX 6800M",
        "AMD A10-7850K",
        "Phoenix, Arizona",
        "commit 9070abc",
        "L4 cache",
        "",
        "RX 7900 XTXX",
    ],
)
def test_what_only_looks_like_a_card_names_none(text: str) -> None:
    assert lookup.profiles_by_name(text) == ()


@pytest.mark.parametrize(
    ("number", "name"),
    [(90010, "gfx90a"), (90012, "gfx90c"), (90402, "gfx942"), (100300, "gfx1030"), (110501, "gfx1151"), (0, None)],
)
def test_target_versions(number: int, name: str | None) -> None:
    assert lookup.gfx_name(number) == name


def test_features_and_early_names_of_targets() -> None:
    target = lookup.gfx_target("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-")
    assert target is not None and target.gfx == "gfx90a" and target.generic is None
    early = lookup.gfx_target("gfx940")
    assert early is not None and early.gfx == "gfx942"
    assert lookup.gfx_target("gfx9999") is None


def test_isa_groups() -> None:
    assert lookup.same_isa_group("gfx1031", "gfx1030")
    assert lookup.same_isa_group("gfx1151", "gfx11-generic")
    assert not lookup.same_isa_group("gfx1010", "gfx1030")
    assert not lookup.same_isa_group("gfx908", "gfx90a")
    assert lookup.same_isa_group("gfx908", "gfx908")


def test_an_arch_list_covers_by_name_or_group() -> None:
    assert lookup.arch_list_covers(["gfx900", "gfx1030"], "gfx1030")
    assert lookup.arch_list_covers(["gfx11-generic"], "gfx1103")
    assert not lookup.arch_list_covers(["gfx1100"], "gfx1103")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("9.0.10", "gfx90a"),
        ("11.0.0", "gfx1100"),
        ("9.0.a", None),
        ("11.0", None),
        ("64.0.0", None),
        ("10.3.0 ", None),
        ("", None),
        ("1.2.3.4", None),
    ],
)
def test_override_values(value: str, name: str | None) -> None:
    assert lookup.override_gfx_name(value) == name


@pytest.mark.parametrize(
    ("physical", "value", "safety"),
    [
        ("gfx1031", "10.3.0", "same-group"),
        ("gfx1102", "11.0.0", "risky"),
        ("gfx1010", "10.3.0", "unsafe"),
        ("gfx90a", "11.0.0", "unsafe"),
        ("gfx1100", "11.0.0", "no-op"),
        ("gfx1030", "10.3.0", "no-op"),
        ("gfx1100", "eleven", "unknown"),
        ("gfx1036", "10.3.1", "same-group"),
    ],
)
def test_overrides(physical: str, value: str, safety: str) -> None:
    assert lookup.override_row(physical, value).safety == safety


def test_kernels_know_targets_where_there_is_evidence() -> None:
    assert lookup.kernel_knows("gfx1201", "6.11.0-8-generic") is True
    assert lookup.kernel_knows("gfx1201", "6.8.0-45-generic") is False
    assert lookup.kernel_knows("gfx950", "6.14.0") is None
    assert lookup.kernel_knows("gfx1100", "5.15.0") is None
    assert lookup.kernel_knows("gfx1100", "strange") is None


def test_rocm_releases() -> None:
    old, new = lookup.rocm_release("6.3.2"), lookup.rocm_release("7.2.4")
    assert old is not None and old.complete and old.gfx is not None and "gfx906" not in old.gfx
    assert new is not None and new.versions == ("7.2.3", "7.2.4") and new.gfx is not None and "gfx1201" in new.gfx
    assert lookup.rocm_release("7.2.0") is None
    unread = lookup.rocm_release("6.4.1")
    assert unread is not None and unread.gfx is None and not unread.complete
    preview, core = lookup.rocm_release("7.13.0"), lookup.rocm_release("7.14.0")
    assert preview is not None and preview.stream == "preview"
    assert core is not None and core.stream == "core"


@pytest.mark.parametrize(
    ("driver", "rocm", "wanted"),
    [
        ("6.3", "6.4.1", True),
        ("30.10.2", "7.2.1", True),
        ("30.20.1", "7.2.1", True),
        ("31.50", "10.0.0", True),
        ("6.1", "7.0.0", False),
        ("6.4", "7.14.0", False),
        ("30.30", "5.7.1", False),
        ("6.7.0", "6.1.0", None),
        ("31.20", "7.2.1", None),
        ("99", "7.0", None),
        ("6.4", "8.0", None),
    ],
)
def test_drivers_and_user_space(driver: str, rocm: str, wanted: bool | None) -> None:
    assert lookup.driver_supports(driver, rocm) is wanted


def test_module_versions_are_no_package_numbers() -> None:
    assert lookup.driver_package("6.19.14") == "31.40"
    assert lookup.driver_package("6.10.5") == "6.3"
    assert lookup.driver_package("6.2.4") == "5.7"  # not package 6.2
    assert lookup.driver_package("5.16.9.22.20") == "5.2"
    assert lookup.driver_package("6.11.7") is None
    assert lookup.driver_supports("5.2", "6.0") is False
    assert lookup.driver_supports("6.0", "6.1") is True
    assert lookup.driver_package("30.20.1") == "30.20"
    window = lookup.driver_window("7.2.0")
    assert window is not None and (window.min, window.max) == ("6.4", "30.30")


def test_torch_releases() -> None:
    found = lookup.torch_release("2.7.1+rocm6.3")
    assert found is not None and found.flavour is not None and found.flavour.basis == "printed"
    assert found.flavour.gfx is not None and "gfx1200" in found.flavour.gfx and "gfx1151" not in found.flavour.gfx
    assert found.python[0] == "3.9"
    newest = lookup.torch_release("2.15.0")
    assert newest is not None and newest.rocm is None and newest.pypi_cuda == "13.2"
    cuda = lookup.torch_release("2.9.1+cu128")
    assert cuda is not None and cuda.flavour is None and cuda.cuda is not None and "cu128" in cuda.cuda
    assert lookup.torch_release("1.13.0") is None


def test_cuda_drivers() -> None:
    found = lookup.cuda_min_driver("12.8")
    assert found is not None and (found.full, found.minor_compat) == ("570.26", "525")
    update = lookup.cuda_min_driver("12.4.1")
    assert update is not None and update.full == "550.54.15"
    branch = lookup.cuda_min_driver("13.4")
    assert branch is not None and branch.branch_only and branch.minor_compat == "580"
    assert lookup.cuda_min_driver("8.0") is None and lookup.cuda_min_driver("x") is None


def test_cuda_before_11_needs_the_driver_of_its_own_release() -> None:
    assert [lookup.cuda_floor(one) for one in ("10.1", "12.4.1", "8.0")] == ["418.39", "525", None]


def test_cuda_of_a_wheel_without_a_label() -> None:
    found = [lookup.cuda_without_label(one) for one in ("1.3.0", "1.7.1", "2.9.1", "1.10.0", "x")]
    assert found == ["10.1", "10.2", "12.8", None, None]


def test_known_issues_match_all_conditions() -> None:
    found = lookup.known_issues(rocm="10.0.0", gfx=["gfx1201"], gpus=4)
    assert [one.id for one in found] == ["rdna4-training-reset", "r9700-p2p-host-hang"]
    assert [one.id for one in lookup.known_issues(rocm="10.0.0", gfx=["gfx1201"], gpus=1)] == ["rdna4-training-reset"]
    assert lookup.known_issues(rocm="10.0.0", gfx=["gfx1100"]) == ()
    assert lookup.known_issues() == ()


def test_an_unknown_version_leaves_an_issue_open() -> None:
    assert lookup.known_issues(gfx=["gfx950"]) == ()
    issue, other = lookup.known_issues(gfx=["gfx950"], nodes=1, strict=False)
    assert issue.id == "mi350x-attention-backward" and issue.open_keys == ("rocm",) and issue.seen == "2026-10-05"
    assert other.id == "rccl-ll-mi350" and set(other.open_keys) == {"rocm", "gpus_at_least"}


def test_wrong_sums_of_rccl_are_known_of_one_release_and_family() -> None:
    found = [one.id for one in lookup.known_issues(rocm="10.1.0", gfx=["gfx950"], gpus=8)]
    assert "rccl-ll-mi350" in found
    for rocm, gfx, gpus in (("10.0.0", "gfx950", 8), ("10.1.0", "gfx942", 8), ("10.1.0", "gfx950", 1)):
        assert "rccl-ll-mi350" not in [one.id for one in lookup.known_issues(rocm=rocm, gfx=[gfx], gpus=gpus)]


@pytest.mark.parametrize(
    ("version", "condition", "wanted"),
    [
        ("7.13.0", ">=7.13", True),
        ("7.2.1", ">=7.13", False),
        ("10.0.2", "=10.0", True),
        ("10.0.2", "=10.0.0", False),
        ("10.0", "=10.0.0", True),
        ("6.3.4", "<6.4", True),
        ("7.14.0", "<=7.14", True),
        ("unknown", ">=7.13", None),
    ],
)
def test_version_conditions(version: str, condition: str, wanted: bool | None) -> None:
    assert meets(version, condition) is wanted


def test_leading_numbers_of_versions() -> None:
    assert numbers("6.12.107-amd64") == (6, 12, 107)
    assert numbers("v7.2rc1") == (7, 2)
    assert numbers("") == () and numbers("rocm") == ()
    assert numbers("9" * 5000) == ()


def test_variables() -> None:
    debug = lookup.env_variable("NCCL_DEBUG")
    assert debug is not None and debug.case_free and "INFO" in debug.values and not debug.values_open
    node = lookup.env_variable("HSA_OVERRIDE_GFX_VERSION_1")
    assert node is not None and node.name.endswith("<node>")
    gone = lookup.env_variable("RCCL_DEBUG")
    assert gone is not None and gone.status == "never-existed" and gone.replaced_by == ("NCCL_DEBUG",)
    algo = lookup.env_variable("NCCL_ALGO")
    assert algo is not None and algo.values_open
    assert lookup.env_variable("NO_SUCH_NAME") is None


def test_spellings_of_switches() -> None:
    strict, loose = lookup.bool_spelling("HSA_ENABLE_SDMA"), lookup.bool_spelling("TORCH_NCCL_BLOCKING_WAIT")
    assert strict is not None and strict.true == ("1",) and strict.otherwise == "unset"
    assert loose is not None and "yes" in loose.true and loose.case_free
    assert lookup.bool_spelling("OMP_PROC_BIND") is None
    assert [one.id for one in lookup.rules_for("HCCL_DEBUG")] == ["other-vendor"]


def test_rates_and_parameters() -> None:
    assert lookup.pcie_gb_s(16.0, 8) == pytest.approx(15.75, abs=0.01)
    assert lookup.pcie_gb_s(3.0, 8) is None
    fans = lookup.module_parameter("amdgpu", "ppfeaturemask")
    assert fans is not None and fans.effect == "harmless" and fans.severity == "info"
    assert lookup.module_parameter("amdgpu", "no_such") is None
    assert lookup.amdgpu_parameter_names()["mes"] == ("6.1", "6.12")


def test_a_source_can_be_shown() -> None:
    found = lookup.source("gfx", "rocr-isa")
    assert found is not None and found.kind == "primary" and "ISA registry" in found.what
    assert lookup.source("gfx", "nobody") is None
