"""What takes effect at the next start or login: GRUB, kernels on the disk, limits. Constructed."""

from __future__ import annotations

import pytest

from rocdoctor.collect.system.pending_settings import collect_later
from rocdoctor.model.evidence import Known, Unknown
from rocdoctor.parsers.system.pending_settings import grub_words, limits_for_all
from tests.collect.hosts import excerpt, whole

_MAIN = "read /etc/default/grub"
_FILES = "list /etc/default/grub.d/*.cfg"
_OURS = "/etc/default/grub.d/90-rocdoctor-iommu.cfg"
_ADDS = 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT iommu=pt"'


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (['GRUB_CMDLINE_LINUX_DEFAULT="quiet splash"\nGRUB_CMDLINE_LINUX=""'], ("quiet", "splash")),
        (['GRUB_CMDLINE_LINUX="a=1"', 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"'], ("a=1", "quiet")),
        (['GRUB_CMDLINE_LINUX_DEFAULT="quiet"', _ADDS], ("quiet", "iommu=pt")),
        (
            ['GRUB_CMDLINE_LINUX_DEFAULT="quiet"', _ADDS.replace("$GRUB", "${GRUB").replace("LT i", "LT} i")],
            ("quiet", "iommu=pt"),
        ),
        (["GRUB_CMDLINE_LINUX_DEFAULT=quiet", 'GRUB_CMDLINE_LINUX_DEFAULT+=" b"'], ("quiet", "b")),
        (["GRUB_CMDLINE_LINUX_DEFAULT='quiet $GRUB_CMDLINE_LINUX'"], ("quiet", "$GRUB_CMDLINE_LINUX")),
        (['GRUB_CMDLINE_LINUX_DEFAULT="quiet"  # mine', '# GRUB_CMDLINE_LINUX="x"'], ("quiet",)),
        (["GRUB_TIMEOUT=5"], None),
        ([], None),
    ],
)
def test_the_words_of_grubs_settings(texts: list[str], words: tuple[str, ...] | None) -> None:
    assert grub_words(texts) == words


def test_limits_of_everybody() -> None:
    text = "# * soft nofile 1\n* soft memlock unlimited\n* hard memlock 64\nbob - memlock 1\n* - nofile 99"
    assert limits_for_all([text]) == {"memlock": "unlimited", "nofile": "99"}
    assert limits_for_all([text, "* soft memlock 8"]) == {"memlock": "8", "nofile": "99"}


def test_files_are_read_in_the_order_in_which_they_count() -> None:
    found = collect_later(
        whole(
            {
                "list /lib/modules/*": "/lib/modules/6.14.0-1010-oem\n/lib/modules/6.8.0-71-generic",
                _MAIN: 'GRUB_CMDLINE_LINUX_DEFAULT="quiet splash"',
                _FILES: _OURS,
                f"read {_OURS}": _ADDS,
                "list /etc/security/limits.d/*.conf": "/etc/security/limits.d/90-rdma.conf",
                "read /etc/security/limits.d/90-rdma.conf": "* soft memlock unlimited",
            }
        )
    )
    assert isinstance(found.boot_words, Known)
    assert found.boot_words.value == ("quiet", "splash", "iommu=pt")
    assert str(found.boot_words.source) == f"read {_OURS}"
    assert isinstance(found.kernels, Known) and found.kernels.value == ("6.14.0-1010-oem", "6.8.0-71-generic")
    assert isinstance(found.limits, Known) and found.limits.value == {"memlock": "unlimited"}


def test_evidence_without_these_files_says_nothing() -> None:
    found = collect_later(excerpt({}))
    assert all(isinstance(fact, Unknown) for fact in (found.kernels, found.boot_words, found.limits))
    half = collect_later(excerpt({_FILES: _OURS, _MAIN: 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"'}))
    assert isinstance(half.boot_words, Unknown)  # the other file may set it anew


def test_a_machine_without_grub_has_no_words_of_it() -> None:
    assert isinstance(collect_later(whole({})).boot_words, Unknown)
