"""Package lists: samples constructed after pip 24, conda 24, dpkg 1.21, rpm 4.16, pacman 6, apk 2.14."""

from __future__ import annotations

from rocdoctor.parsers.system import packages

PIP = """\
Package             Version        Editable project location
------------------- -------------- -------------------------
torch               2.6.0+rocm6.2.4
pytorch-triton-rocm 3.2.0
my_pkg              0.1            /home/user/x

[notice] A new release of pip is available: 24.0 -> 25.0
"""
FREEZE = """\
torch==2.6.0+rocm6.2.4
triton @ file:///tmp/triton-3.2.0%2Bgit0d4682f-cp312-cp312-linux_x86_64.whl
uvicorn[standard]==0.30.1 ; python_version > "3.8"
-e git+https://example.org/x.git@0123#egg=x_y
torch==2.6.0 fails on my machine
"""


def test_pip() -> None:
    columns = packages.parse_pip_list(PIP)
    assert [(p.name, p.version, p.line) for p in columns] == [
        ("torch", "2.6.0+rocm6.2.4", 3),
        ("pytorch-triton-rocm", "3.2.0", 4),
        ("my_pkg", "0.1", 5),
    ]
    frozen = packages.parse_pip_list(FREEZE)
    assert [(p.name, p.version) for p in frozen] == [
        ("torch", "2.6.0+rocm6.2.4"),
        ("triton", "3.2.0+git0d4682f"),
        ("uvicorn", "0.30.1"),
        ("x_y", None),
    ]
    listed = packages.parse_pip_list('[{"name": "torch", "version": "2.6.0"},\n {"name": "numpy", "version": "1.26"}]')
    assert [(p.name, p.version, p.line) for p in listed] == [("torch", "2.6.0", 1), ("numpy", "1.26", 2)]
    assert packages.canonical_name("Flash_Attn.x") == "flash-attn-x"
    assert packages.parse_pip_list("no packages here 1.0\n") == ()


def test_conda() -> None:
    found = packages.parse_conda_list(
        "# packages in environment at /opt/conda:\n#\n# Name  Version  Build  Channel\n"
        "_libgcc_mutex  0.1  conda_forge  conda-forge\npytorch  2.1.0  py3.11_cuda12.1_cudnn8_0  pytorch\n"
        "torchvision  0.16.0  pypi_0  pypi\n"
    )
    assert [(p.name, p.version, p.line) for p in found] == [
        ("_libgcc_mutex", "0.1", 4),
        ("pytorch", "2.1.0", 5),
        ("torchvision", "0.16.0", 6),
    ]


def test_distribution_packages() -> None:
    dpkg = packages.parse_dpkg(
        "Desired=Unknown/Install/Remove/Purge/Hold\n||/ Name Version Architecture Description\n"
        "+++-====-====-====-====\n"
        "ii  rocm-core      6.2.0.60200-66~22.04      amd64        ROCm core\n"
        "iF  amdgpu-dkms    1:6.8.5.60200-2009582     all          kernel driver\n"
        "rc  hip-runtime-amd 6.1.0 amd64 x\n"
        "ii  libdrm2:amd64  2.4.113-2                 amd64        lib\n"
        "it  was broken\n"
    )
    assert [(p.name, p.version, p.line) for p in dpkg] == [
        ("rocm-core", "6.2.0.60200-66~22.04", 4),
        ("amdgpu-dkms", "1:6.8.5.60200-2009582", 5),
        ("libdrm2", "2.4.113-2", 7),
    ]
    query = packages.parse_dpkg("rocm-core\t6.2.0\nlibdrm2:i386\t2.4\nold\t\n")
    assert [(p.name, p.version) for p in query] == [("rocm-core", "6.2.0"), ("libdrm2", "2.4")]
    rpm = packages.parse_rpm("rocm-core-6.2.0.60200-66.el8.x86_64\nhip-devel-6.2.41133.60200-66.el9\nnot a package\n")
    assert [(p.name, p.version) for p in rpm] == [
        ("rocm-core", "6.2.0.60200-66.el8"),
        ("hip-devel", "6.2.41133.60200-66.el9"),
    ]
    pacman = packages.parse_pacman("rocm-core 6.2.4-1\nlinux-firmware 1:20250101.abc-1\nhello world\n")
    assert [(p.name, p.version) for p in pacman] == [
        ("rocm-core", "6.2.4-1"),
        ("linux-firmware", "1:20250101.abc-1"),
    ]
    assert pacman[1].line == 2
