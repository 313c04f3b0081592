"""The table of what AMD lists, written from files of the vendor's shape: invented cards, real keys."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocdoctor.knowledge.load import parse
from tools.vendor_tables import TABLE, main, rendered

_SYSTEMS = """
_versions:
  - &u26 { version: "26.04", kernel: "GA 7.0" }
  - &u24 { version: "24.04.4", kernel: "HWE 6.17", graphics: true }
AMD Instinct:
  AMD Instinct X1:
    Ubuntu: { versions: [*u26] }
    Red Hat Enterprise Linux:
      abbr: RHEL
      versions: [{ version: "10.2", kernel: "6.12.0-211" }]
    Oracle Linux: { versions: [{ version: "9", kernel: "UEK 8" }] }
AMD Radeon:
  AMD Radeon Y1: &y
    Ubuntu: { versions: [*u26, *u24] }
    Windows: { versions: [{ version: "11 25H2" }] }
    WSL2: { versions: ["26.04", "24.04"] }
  AMD Radeon Y2: *y
AMD Ryzen:
  AMD Ryzen Z1:
    Ubuntu: { versions: [*u26] }
"""
_GPUS = """
_arch: [{ name: RDNA 9 }]
AMD Instinct: { AMD Instinct X1: { gfx: gfx942 } }
AMD Radeon: { AMD Radeon Y1: { gfx: gfx1201 }, AMD Radeon Y2: { gfx: gfx1201 } }
AMD Ryzen: { AMD Ryzen Z1: { gfx: gfx1151, igpu: Radeon Z } }
"""
_DRIVERS = """
AMD Instinct:
  AMD Instinct X1:
    firmware: ["01.02 (or later)"]
    linux: { amdgpu: [{ version: "31.50.0", url: "https://x.invalid" }, { version: "30.30.3" }] }
AMD Radeon: { linux: { amdgpu: [{ version: "31.50.0" }] }, windows: [{ version: "26.8.1" }] }
AMD Ryzen: { linux: [{ os: "Ubuntu 26.04", driver: "use inbox kernel driver" }] }
"""
_HASH = "0123456789abcdef0123456789abcdef01234567"


def _files(folder: Path, **texts: str) -> list[str]:
    named = {"os-support": _SYSTEMS, "gpus": _GPUS, "driver-firmware-support": _DRIVERS} | texts
    for name, text in named.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return [f"{folder / name}.yaml@{_HASH}" for name in named]


def _run(folder: Path, *words: str, **texts: str) -> int:
    table = ["--table", str(folder / "table.yaml")]
    return main([*table, "--rocm", "10.2", "--day", "2026-11-24", *words, *_files(folder, **texts)])


def test_the_facts_of_the_vendor_become_rows_with_their_source(tmp_path: Path) -> None:
    assert _run(tmp_path, "--write") == 0
    table = parse((tmp_path / "table.yaml").read_text(encoding="utf-8"))
    assert table["read_through"] == "2026-11-24"
    (release,) = table["releases"]
    assert release["rocm"] == "10.2" and set(release["s"]) == set(table["sources"])
    source = table["sources"]["os-support-10.2"]
    assert source["what"] == "ROCm/rocm-docs docs/data/os-support.yaml@0123456789ab, for ROCm 10.2"
    assert (source["kind"], source["read"]) == ("primary", "2026-11-24")
    instinct, radeon, ryzen = release["cards"]
    assert instinct["systems"] == ["ubuntu 26.04 GA 7.0", "rhel 10.2 6.12.0-211", "ol 9 UEK 8"]
    assert instinct["firmware"] == ["01.02 (or later)"]
    assert radeon["names"] == ["AMD Radeon Y1", "AMD Radeon Y2"] and radeon["wsl"] == ["26.04", "24.04"]
    assert "11 25H2" not in str(radeon) and ryzen["gfx"] == "gfx1151"
    assert release["drivers"] == {"Instinct": ["31.50.0", "30.30.3"], "Radeon": ["31.50.0"], "Ryzen": ["kernel"]}


def test_what_changed_is_told_and_nothing_is_written_unasked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(tmp_path, "--write") == 0
    before = (tmp_path / "table.yaml").read_bytes()
    capsys.readouterr()
    assert _run(tmp_path) == 0
    assert capsys.readouterr().out == "nothing changed\n"
    changed = _SYSTEMS.replace('"24.04.4", kernel: "HWE 6.17"', '"24.04.5", kernel: "HWE 7.0"')
    assert _run(tmp_path, **{"os-support": changed}) == 0
    assert capsys.readouterr().out == (
        "AMD Radeon Y1, AMD Radeon Y2: systems: - ubuntu 24.04.4 HWE 6.17; + ubuntu 24.04.5 HWE 7.0\n"
    )
    assert (tmp_path / "table.yaml").read_bytes() == before


def test_other_releases_stay_and_a_new_one_is_set_beside_the_newest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(tmp_path, "--write") == 0
    capsys.readouterr()
    drivers = _DRIVERS.replace(
        'linux: { amdgpu: [{ version: "31.50.0" }] }', 'linux: { amdgpu: [{ version: "31.60" }] }'
    )
    files = _files(tmp_path, **{"driver-firmware-support": drivers})
    words = ["--table", str(tmp_path / "table.yaml"), "--rocm", "10.3", "--day", "2026-12-24", "--write", *files]
    assert main(words) == 0
    assert "Radeon: drivers: - 31.50.0; + 31.60" in capsys.readouterr().out
    table = parse((tmp_path / "table.yaml").read_text(encoding="utf-8"))
    assert [one["rocm"] for one in table["releases"]] == ["10.3", "10.2"]
    assert table["read_through"] == "2026-12-24" and "gpus-10.2" in table["sources"]


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("os-support", "    Oracle Linux:", "    Hannah Montana Linux:", "Hannah Montana"),
        ("os-support", '"26.04", kernel', "26.04, kernel", "not quoted"),
        ("gpus", "AMD Radeon Y2: { gfx: gfx1201 }", "AMD Radeon Y2: { gfx: TBD }", "no target for AMD Radeon Y2"),
        (
            "driver-firmware-support",
            "AMD Instinct:\n",
            "AMD Instinct:\n  AMD Instinct X0: { linux: { amdgpu: [{ version: 30.30.3 }] } }\n",
            "cards of AMD Instinct differ",
        ),
        ("driver-firmware-support", "use inbox kernel driver", "a USB stick", "neither a package nor of the kernel"),
        ("os-support", "AMD Instinct:", "- not a mapping", "vendor_tables: "),
        ("os-support", "kernel: ", 'kernel: "\\e[2J", old: ', "cannot be seen"),
    ],
)
def test_another_shape_is_refused_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, old: str, new: str, told: str
) -> None:
    whole = {"os-support": _SYSTEMS, "gpus": _GPUS, "driver-firmware-support": _DRIVERS}
    assert old in whole[name]
    assert _run(tmp_path, "--write", **{name: whole[name].replace(old, new, 1)}) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "table.yaml").exists()


def test_a_file_without_its_commit_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _files(tmp_path)
    assert main(["--rocm", "10.2", "--day", "2026-11-24", str(tmp_path / "gpus.yaml")]) == 2
    assert "@COMMIT" in capsys.readouterr().err


def test_targets_of_a_build_script_are_set_beside_ours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "build.sh"
    script.write_text(
        'PYTORCH_ROCM_ARCH="gfx942;gfx1201;gfx1299"\nPYTORCH_ROCM_ARCH="gfx900;${PYTORCH_ROCM_ARCH}"\n',
        encoding="utf-8",
    )
    assert main(["--torch", str(script)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[:2] == ["all flavours: gfx942 gfx1201 gfx1299", "older flavours also: gfx900"]
    assert "torch 2.14.0 rocm7.2 in compat.yaml: without gfx1299" in said
    assert "torch 2.13.0 rocm7.2 in compat.yaml: not known" in said
    script.write_text("exit 1\n", encoding="utf-8")
    assert main(["--torch", str(script)]) == 2


def test_the_table_that_ships_is_as_the_program_writes_it() -> None:
    text = TABLE.read_text(encoding="utf-8")
    assert rendered(parse(text)) == text


def test_hostile_files_are_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{n}: &{n} [*{p}, *{p}]\n" for p, n in zip("abcdefghijklmnopqrstu", "bcdefghijklmnopqrstuv", strict=True)
    )
    for text, why in (
        ("[" * 100_000, "nested more than"),
        ("{a: " * 100_000, "nested more than"),
        (bomb * 2, "aliases"),
        ("x" * 5_000_000, "larger than"),
        ("- 1\n", "not a table"),
    ):
        assert _run(tmp_path, gpus=text) == 2
        assert why in capsys.readouterr().err, text[:40]
        (tmp_path / "table.yaml").write_text(text)
        assert _run(tmp_path) == 2
        assert why in capsys.readouterr().err, text[:40]
        (tmp_path / "table.yaml").unlink()
    os.mkfifo(tmp_path / "script")
    assert main(["--torch", str(tmp_path / "script")]) == 2
    _files(tmp_path)
    (tmp_path / "gpus.yaml").unlink()
    os.mkfifo(tmp_path / "gpus.yaml")
    named = [f"{tmp_path / name}.yaml@{_HASH}" for name in ("os-support", "gpus")]
    assert main(["--table", str(tmp_path / "t"), "--rocm", "10.2", "--day", "2026-11-24", *named]) == 2
    assert capsys.readouterr().err.count("not a regular file") == 2
