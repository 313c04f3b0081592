"""Support judged for card x release x kernel x driver x ROCm x torch: what AMD lists, what may run, what cannot."""

from __future__ import annotations

import pytest

from rocdoctor.knowledge import install
from rocdoctor.knowledge.install import Combination, difference_words, judged_support

XTX = ("AMD Radeon RX 7900 XTX",)
HALO = ("AMD RYZEN AI MAX+ 395 w/ Radeon 8060S",)
MI300X = ("AMD Instinct MI300X",)
MI210 = ("AMD Instinct MI210",)


def _on(system: str, kernel: str, driver: str = "dkms", rocm: str = "10.1.0", torch: str = "") -> dict[str, str]:
    name, _, version = system.partition(" ")
    return {"rocm": rocm, "distribution": name, "version": version, "kernel": kernel, "driver": driver, "torch": torch}


def _answer(gfx: str, names: tuple[str, ...], where: dict[str, str], **more: object) -> install.ListedSupport:
    return judged_support(Combination(gfx, names, **where, **more))  # type: ignore[arg-type]


LISTED = [
    ("gfx1100", XTX, _on("ubuntu 24.04", "7.0.0-29-generic")),
    ("gfx1100", XTX, _on("ubuntu 24.04.5", "7.0.0-29-generic", torch="2.14.0+rocm10.1.0")),
    ("gfx1100", XTX, _on("ubuntu 24.04", "6.17.0-20-generic", rocm="10.0.0")),
    ("gfx1100", XTX, _on("ubuntu 22.04", "6.8.0-71-generic")),
    ("gfx1100", XTX, _on("ubuntu 22.04", "5.15.0-119-generic", rocm="7.14.1")),
    ("gfx1100", XTX, _on("rhel 10.2", "6.12.0-211.7.1.el10_2.x86_64")),
    ("gfx942", MI300X, _on("ubuntu 24.04", "6.8.0-71-generic")),
    ("gfx942", MI300X, _on("rhel 8.10", "4.18.0-553.16.1.el8_10.x86_64")),
    ("gfx942", MI300X, _on("rocky 9.6", "5.14.0-570.12.1.el9_6.x86_64")),
    ("gfx942", MI300X, _on("ol 9.6", "6.12.0-100.28.2.el9uek.x86_64")),
    ("gfx942", MI300X, _on("sles 15.7", "6.4.0-150700.53.3-default")),
    ("gfx942", MI300X, _on("debian 13", "6.12.43-amd64")),
    ("gfx90a", MI210, _on("ubuntu 26.04", "7.0.0-10-generic")),
    ("gfx1151", HALO, _on("ubuntu 24.04", "7.0.0-29-generic", "kernel")),
    ("gfx1151", HALO, _on("ubuntu 24.04", "6.17.0-1007-oem", "kernel", rocm="10.0.0")),
]
# what differs, and a part of what is said of it
UNLISTED = [
    ("gfx1100", XTX, _on("ubuntu 24.04", "6.14.0-29-generic"), ("kernel",), "the HWE kernel 7.0"),
    ("gfx1100", XTX, _on("ubuntu 22.04", "5.15.0-119-generic"), ("kernel",), "the HWE kernel 6.8"),
    ("gfx1100", XTX, _on("ubuntu 24.04", "6.17.0-1007-oem", rocm="10.0.0"), ("kernel",), "the HWE kernel 6.17"),
    ("gfx1100", XTX, _on("rhel 10.0", "6.12.0-55.el10.x86_64"), ("release",), "RHEL 10.2 or 9.8, but not on 10.0"),
    ("gfx1100", XTX, _on("debian 13", "6.12.43-amd64"), ("distribution",), "on Ubuntu or RHEL, but not on Debian"),
    ("gfx942", MI300X, _on("ubuntu 24.04", "6.8.0-71-generic", "kernel"), ("driver",), "amdgpu-dkms"),
    ("gfx942", MI300X, _on("ubuntu 24.04", "6.14.0-29-generic"), ("kernel",), "the GA kernel 6.8"),
    ("gfx942", MI300X, _on("ol 9.6", "5.14.0-570.el9.x86_64"), ("kernel",), "UEK 8"),
    ("gfx90a", MI210, _on("debian 13", "6.12.43-amd64"), ("distribution",), "on Ubuntu, RHEL or SLES"),
    ("gfx1031", ("AMD Radeon RX 6700 XT",), _on("ubuntu 24.04", "7.0.0-29-generic"), ("card",), "does not name"),
    ("gfx1102", ("AMD Radeon RX 7600 XT",), _on("ubuntu 26.04", "7.0.0-29-generic"), ("card",), "AMD Radeon RX 7600."),
    ("gfx1151", HALO, _on("ubuntu 24.04", "6.14.0-29-generic", "kernel"), ("kernel",), "6.17.0-19 or later"),
    ("gfx1151", HALO, _on("fedora 42", "6.15.9-201.fc42.x86_64", "kernel"), ("distribution", "kernel"), "6.18.4"),
    ("gfx1151", HALO, _on("ubuntu 24.04", "7.0.0-29-generic", "dkms"), ("driver",), "the kernel's own driver"),
    (
        "gfx1100",
        XTX,
        _on("ubuntu 26.04", "7.0.0-29-generic", torch="2.11.0+rocm10.1.0"),
        ("torch",),
        "2.14.0+rocm10.1.0",
    ),
]


def test_what_amd_lists_is_listed() -> None:
    wrong = [
        (names, where, difference_words(answer))
        for gfx, names, where in LISTED
        if (answer := _answer(gfx, names, where)).state != "listed"
    ]
    assert not wrong


def test_what_amd_does_not_list_says_what_differs_and_what_is_listed() -> None:
    for gfx, names, where, what, words in UNLISTED:
        answer = _answer(gfx, names, where)
        told = tuple(one.what for one in answer.differences)
        assert (answer.state, told) == ("unlisted", what), (names, where, difference_words(answer))
        assert words in difference_words(answer), difference_words(answer)
        assert answer.cited and all(one.kind == "primary" or one.kind == "derived" for one in answer.cited)
        assert all(len(one.read) == 10 for one in answer.cited)


def test_only_what_amd_itself_calls_unsupported_is_refused() -> None:
    refused = {where["kernel"] for gfx, names, where, *_ in UNLISTED if _answer(gfx, names, where).refused}
    assert refused == {"6.14.0-29-generic", "6.15.9-201.fc42.x86_64"}
    assert not any(_answer(gfx, names, where).refused for gfx, names, where in LISTED)


@pytest.mark.parametrize(
    ("kernel", "asked"),
    [
        ("6.14.0-1018-oem", False),
        ("6.14.0-1017-oem", True),
        ("6.17.0-19-generic", False),
        ("6.17.0-18-generic", True),
        ("6.18.7-061807-generic", False),
        ("6.8.0-45-generic", True),
        ("", False),
    ],
)
def test_floors_of_ubuntu_go_by_the_kind_of_kernel(kernel: str, asked: bool) -> None:
    assert (install.kernel_floor("gfx1151", "ubuntu", "24.04", kernel) is not None) == asked


def test_floors_elsewhere_and_of_other_targets() -> None:
    assert install.kernel_floor("gfx1151", "ubuntu", "26.04", "7.0.0-5-generic") is None
    assert install.kernel_floor("gfx1151", "fedora", "43", "6.17.1-300.fc43.x86_64") == "Linux 6.18.4 or later"
    assert install.kernel_floor("gfx1151", "fedora", "42", "6.17.1-200.fc42.x86_64") == "Linux 6.18.4 or later"
    assert install.kernel_floor("gfx1151", "debian", "13", "6.12.43-amd64") == "Linux 6.18.4 or later"
    # their numbers say nothing: they carry newer drivers
    assert install.kernel_floor("gfx1151", "rhel", "10.0", "6.12.0-55.el10_0.x86_64") is None
    assert install.kernel_floor("gfx1100", "debian", "13", "6.1.0-1-amd64") is None


def test_what_has_no_code_cannot_run() -> None:
    old = _answer("gfx803", ("AMD Radeon RX 580",), _on("ubuntu 24.04", "7.0.0-29-generic", "kernel"))
    assert old.state == "fails" and "ROCm 10.1.0 lists neither the target" in difference_words(old)
    torch = _answer("gfx1201", ("AMD Radeon RX 9070 XT",), _on("ubuntu 26.04", "7.0.0-5", torch="2.5.1+rocm6.2"))
    assert torch.state == "fails" and "torch 2.5.1+rocm6.2 has no code" in difference_words(torch)
    kernel = _answer("gfx1201", ("AMD Radeon RX 9070 XT",), _on("debian 12", "6.1.0-40-amd64", "kernel"))
    assert kernel.state == "fails" and "kernel" in {one.what for one in kernel.differences}


def test_what_is_not_known_is_no_difference() -> None:
    bare = judged_support(Combination("gfx1100", XTX, "10.1"))
    assert bare.state == "unknown" and difference_words(bare) == "" and not bare.of("driver", "distribution")
    half = judged_support(Combination("gfx1100", XTX, "10.1", "rhel", "10", "6.12.0", "dkms"))
    assert half.state == "unknown"  # 10.2 is listed, 10.0 is not
    # a release whose lists by card were not read
    assert _answer("gfx1100", XTX, _on("ubuntu 22.04", "5.15.0-119-generic", rocm="6.4.3")).state == "unknown"
    # a card that may be one of two: the kindest counts
    either = _answer("gfx90a", ("AMD Instinct MI250X", "AMD Instinct MI210"), _on("debian 12", "6.1.0-40-amd64"))
    assert either.state == "listed"


def test_under_wsl_the_list_for_wsl_counts() -> None:
    kernel = "6.6.87.2-microsoft-standard-WSL2"
    assert _answer("gfx1100", XTX, _on("ubuntu 22.04", kernel, ""), wsl=True).state == "listed"
    other = _answer("gfx1100", XTX, _on("debian 13", kernel, ""), wsl=True)
    assert other.state == "unlisted" and "on Ubuntu, but not on Debian" in difference_words(other)
    small = _answer("gfx1102", ("AMD Radeon RX 7600",), _on("ubuntu 24.04", kernel, ""), wsl=True)
    assert small.state == "unlisted" and "not on WSL" in difference_words(small)
    assert _answer("gfx1151", HALO, _on("ubuntu 22.04", kernel, ""), wsl=True).state == "unlisted"


def test_of_a_card_that_is_not_listed_the_lists_speak_by_its_target() -> None:
    words = difference_words(_answer("gfx1102", ("AMD Radeon RX 7600S",), _on("fedora 42", "6.15.9-201.fc42.x86_64")))
    assert "does not name AMD Radeon RX 7600S" in words and "names the target of this GPU on Ubuntu or RHEL" in words


def test_firmware_that_amd_names_comes_along() -> None:
    assert _answer("gfx942", MI300X, _on("ubuntu 24.04", "6.8.0-71-generic")).firmware[0].startswith("01.26.00.04")
    assert not _answer("gfx1100", XTX, _on("ubuntu 26.04", "7.0.0-5-generic")).firmware


def test_a_release_that_is_like_another_differs_where_it_says_so() -> None:
    older, newer = install.release_lists("10.0"), install.release_lists("10.1")
    assert older is not None and newer is not None and newer.rocm == install.newest_lists().rocm
    assert newer.drivers["Instinct"] == ("31.60", *older.drivers["Instinct"])
    assert newer.drivers["Ryzen"] == older.drivers["Ryzen"] == ("kernel",)
    (row,) = newer.of_names("gfx1151", HALO)
    assert {one.name for one in row.systems} == {"Ubuntu 26.04.1", "Ubuntu 24.04.5"}
    assert install.release_lists("7.2.4") is None


def test_names_of_tables_tools_and_processors_are_compared_alike() -> None:
    for one, other in (
        ("AMD Radeon PRO W7900", "AMD Radeon Pro W7900"),
        ("AMD RYZEN AI MAX+ 395 w/ Radeon 8060S", "AMD Ryzen AI Max+ 395"),
        ("AMD Instinct MI300X", "Instinct MI300X"),
    ):
        assert install.plain_name(one) == install.plain_name(other)
    assert install.plain_name("AMD Radeon RX 9050 (4GB)") != install.plain_name("AMD Radeon RX 9050")
    assert install.plain_name("AMD Radeon RX 7900 XTX") != install.plain_name("AMD Radeon RX 7900 XT")
