"""Every table: sources exist, ids are unique, ids are well formed, and both loaders read the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rocdoctor.knowledge import load, lookup
from rocdoctor.knowledge.load import KINDS
from rocdoctor.knowledge.software.rules import FIRM
from tests.examples import rows, some

KNOWLEDGE = load.knowledge_folder()
FILES = sorted([*KNOWLEDGE.glob("*.yaml"), *load.profiles_folder().glob("*.yaml")])
OURS = {
    "causes",
    "gfx",
    "compat",
    "env_vars",
    "env_rules",
    "module_parameters",
    "rules",
    "figures",
    "training_libraries",
    "python_api",
}
WITH_SOURCES = [path for path in FILES if path.stem in OURS or path.parent == load.profiles_folder()]

TAXONOMY_TEXT = """
hsa-override-wrong gpu-arch-not-built kernel-lib-arch-unsupported wrong-backend-build python-package-mismatch
device-permission container-device-access igpu-shadows-dgpu visible-devices-conflict mixed-gpu-archs gpu-not-supported
kernel-module-not-loaded dkms-kernel-mismatch driver-too-old driver-library-mismatch fabric-manager-down gpu-firmware
gpu-hardware-fault thermal-or-power-limit pcie-atomics-missing pcie-link-degraded iommu-acs-p2p shm-too-small
memlock-limit network-interface-wrong rendezvous-name-resolution out-of-memory cpu-affinity-or-threads
debug-env-left-on cuda-toolkit-mismatch missing-shared-library mixed-rocm-installs libc-or-abi-mismatch
wsl-unsupported not-environment
"""
TAXONOMY = TAXONOMY_TEXT.split()


def name_of(path: Path) -> str:
    return path.stem


def read(path: Path, loader: Any = None) -> Any:
    return load.parse(path.read_text(encoding="utf-8"), loader)


def cited(node: Any) -> Iterator[str]:
    """Every source id in a table."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "s":
                yield from [value] if isinstance(value, str) else value
            else:
                yield from cited(value)
    elif isinstance(node, list):
        for value in node:
            yield from cited(value)


@pytest.mark.parametrize("path", WITH_SOURCES, ids=name_of)
def test_every_cited_source_is_in_the_table_of_its_file(path: Path) -> None:
    table = read(path)
    sources = table["sources"]
    assert all(set(one) - {"read"} == {"what", "kind"} and one["kind"] in KINDS for one in sources.values())
    used = set(cited({key: value for key, value in table.items() if key != "sources"}))
    assert used <= set(sources)
    assert used, "a table without sources says nothing"


@rows("path", FILES, ids=name_of)
def test_no_key_stands_twice(path: Path) -> None:
    class Strict(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        pass

    def mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> Any:
        keys = [loader.construct_object(key) for key, _ in node.value]
        assert len(keys) == len(set(keys)), keys
        return dict(loader.construct_pairs(node, deep=True))

    Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    assert read(path, Strict) == read(path)


@pytest.mark.parametrize("path", some(FILES), ids=name_of)
def test_both_loaders_read_the_same(path: Path) -> None:
    assert read(path, yaml.SafeLoader) == read(path)


def test_the_causes_are_those_of_the_taxonomy() -> None:
    assert sorted(lookup.causes()) == sorted(TAXONOMY)


def test_a_cause_explains_only_causes_of_lower_rank_so_there_are_no_cycles() -> None:
    for one in lookup.causes().values():
        assert all(lookup.causes()[other].rank < one.rank for other in one.explains), one.id


def test_each_cause_has_an_actionable_remedy() -> None:
    for one in lookup.causes().values():
        assert one.title and one.meaning.endswith(".") and one.first_step.endswith(".")
        assert len(one.details) > 40
        assert one.safety in {"safe", "manual", "reboots", "risky"}


def test_not_environment_is_the_last_of_all() -> None:
    assert min(lookup.causes().values(), key=lambda one: one.rank).id == "not-environment"


def test_profile_ids_and_pci_ids_are_well_formed() -> None:
    profiles = lookup.all_profiles()
    assert len({one.id for one in profiles}) == len(profiles)
    for one in profiles:
        for pci in one.pci:
            assert re.fullmatch(r"[0-9a-f]{4}", pci.device), one.id
            assert pci.revision is None or re.fullmatch(r"[0-9a-f]{2}", pci.revision), one.id
        assert (one.gfx is None) == (one.vendor == "nvidia"), one.id
        assert one.gfx is None or lookup.gfx_target(one.gfx) is not None, one.id


def test_every_figure_names_its_kind() -> None:
    for profile in lookup.all_profiles():
        figures = [profile.compute_units, profile.vram_gib, profile.mem_bandwidth_gb_s, profile.tbp_w]
        figures += list((profile.tflops or {}).values())
        for figure in figures:
            assert figure is None or (figure.kind in KINDS and all(value > 0 for value in figure.values))


def test_gfx_rows_agree_with_the_naming_rule() -> None:
    for name, target in lookup.gfx_targets().items():
        assert lookup.gfx_name(target.gfx_target_version) == name


def test_each_member_of_a_generic_group_has_a_row_that_says_so() -> None:
    for group, members in load.load_table("gfx")["generic_groups"]["members"].items():
        for member in members:
            target = lookup.gfx_target(member)
            assert target is not None and target.generic == group


def test_override_pairs_agree_with_the_groups() -> None:
    for pair in load.load_table("gfx")["override"]["pairs"]:
        target = lookup.override_gfx_name(pair["override"])
        assert target is not None
        if pair["safety"] == "no-op":
            assert target == pair["physical"]
        else:
            assert lookup.same_isa_group(pair["physical"], target) == (pair["safety"] != "unsafe"), pair


def test_a_device_id_belongs_to_one_chip() -> None:
    devices = [device for chip in load.load_table("gfx")["chips"] for device in chip["devices"]]
    assert len(devices) == len(set(devices))
    assert all(re.fullmatch(r"[0-9a-f]{4}", device) for device in devices)


def test_unverified_rules_are_notes() -> None:
    for one in lookup.rules().values():
        firm = one.basis in FIRM
        assert firm or one.severity == "info", one.id


def test_no_module_parameter_is_worth_an_error() -> None:
    names = lookup.amdgpu_parameter_names()
    for (module, name), one in lookup.module_parameters().items():
        assert one.severity in {"info", "warning"}
        assert module != "amdgpu" or name in names, name


def test_ids_of_issues_rules_and_variables_are_unique() -> None:
    for listed in (
        [one["id"] for one in load.load_table("compat")["known_issues"]],
        [one["id"] for one in load.load_table("rules")["rules"]],
        [one["name"] for one in load.load_table("env_vars")["variables"]],
        [one["version"] for one in load.load_table("compat")["torch"]["releases"]],
    ):
        assert len(listed) == len(set(listed))


def test_the_line_reader_knows_the_whole_variable_table() -> None:
    whole = load.load_table("env_vars")["variables"]
    assert lookup.env_names() == {one["name"] for one in whole}
    for one in lookup.env_variables()[::40]:
        assert lookup.env_variable(one.name) == one


def test_variables_say_what_a_linter_needs() -> None:
    statuses = {"current", "renamed", "removed", "never-existed", "debug-only", "internal"}
    for one in lookup.env_variables():
        assert one.status in statuses and one.severity in {"critical", "high", "medium", "low", "info"}, one.name
        assert one.effect.endswith("."), one.name
        if one.pattern is not None:
            re.compile(one.pattern)
        if one.minimum is not None and one.maximum is not None:
            assert one.minimum < one.maximum


def test_tables_are_missing_loudly() -> None:
    with pytest.raises(load.TableError):
        load.load_table("no_such_table")
    with pytest.raises(load.TableError):
        load.load_table("../pyproject")
    with pytest.raises(load.TableError):
        load.parse("- a list\n")


def test_no_cause_tells_what_another_cause_tells() -> None:
    """A sentence that stands under two causes stands under a wrong one."""
    told = [
        (entry["id"], set(words))
        for entry in yaml.safe_load((KNOWLEDGE / "causes.yaml").read_text())["causes"]
        for key in ("meaning", "first_step", "remedy")
        for sentence in entry[key].split(". ")
        if len(words := re.findall(r"[\w/]+", sentence.lower())) > 12
    ]
    alike = [
        (one, other)
        for number, (one, words) in enumerate(told)
        for other, others in told[:number]
        if one != other and len(words & others) > 0.7 * len(words | others)
    ]
    assert not alike, alike
