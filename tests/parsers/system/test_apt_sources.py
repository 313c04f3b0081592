"""Source lists of apt; the lines are those of AMD's pages (package-manager-ubuntu.rst) and of sources.list(5)."""

from __future__ import annotations

from rocdoctor.parsers.system.apt_sources import AptSource, parse_apt_sources

_TEXT = """# ROCm
deb [arch=amd64 signed-by=/etc/apt/keyrings/rocm.gpg] https://repo.radeon.com/rocm/apt/5.7 jammy main
#deb https://repo.radeon.com/rocm/apt/5.6 focal main
deb-src https://repo.radeon.com/rocm/apt/5.7 jammy main
  deb https://repo.radeon.com/amdgpu/31.50/ubuntu noble main proprietary
deb
deb https://repo.radeon.com/amdgpu
"""


def test_sources_that_are_switched_on_with_their_lines() -> None:
    assert parse_apt_sources(_TEXT) == (
        AptSource("https://repo.radeon.com/rocm/apt/5.7", "jammy", 2),
        AptSource("https://repo.radeon.com/amdgpu/31.50/ubuntu", "noble", 5),
    )
    assert parse_apt_sources("") == ()
