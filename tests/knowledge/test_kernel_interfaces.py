"""Interfaces of the kernel that went: the answer names the interface and the release, and only for a GPU's module."""

from __future__ import annotations

from rocdoctor.paste.clean_text import clean
from tests.message_kit import finding_of, messages, words_of

KNOWN = "known-message"
GONE = "error: implicit declaration of function 'del_timer_sync'; did you mean 'dev_mc_sync'?"


def test_the_release_that_removed_it_is_named() -> None:
    said = words_of(finding_of(KNOWN, f"/build/535.171.04/common/inc/nv-timer.h:58:5: {GONE}"))
    assert "del_timer_sync" in said and "Linux 6.15" in said and "before 6.15" in said


def test_members_arguments_and_constants() -> None:
    for line, since in (
        ("nvidia-drm-drv.c:748:40: error: ‘DRM_UNLOCKED’ undeclared here (not in a function)", "6.8"),
        ("nvidia-drm-drv.c:192:6: error: ‘const struct drm_driver’ has no member named ‘dumb_destroy’", "6.4"),
        ("os-mlock.c:48:11: error: too many arguments to function ‘get_user_pages’", "6.5"),
        ("nv-mmap.c:450:23: error: assignment of read-only member ‘vm_flags’", "6.3"),
    ):
        assert f"Linux {since} " in words_of(finding_of(KNOWN, clean(line).text)), line


def test_a_module_of_another_device_and_a_function_that_is_there() -> None:
    for line in (
        f"/var/lib/dkms/tablet/0.9/build/tablet.c:494:9: {GONE}",
        "nv-timer.h:58:5: error: implicit declaration of function 'timer_delete_sync'",
        "nv-timer.h:58:5: warning: 'del_timer_sync' is deprecated",
    ):
        assert [one for one in messages(line) if one.kind == "kernel-interface-changed"] == [], line
