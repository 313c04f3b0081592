"""A program could not start because the loader did not find a shared library.

Why
  A binary names the libraries it was linked with, with their major version. The program ends if a
  library is not installed, is in a folder that the loader does not search, or has another major version. The remedy
  depends on whose library it is: the system's, ROCm's or CUDA's (the binary is for that release), the driver's, or
  torch's own.

Fix
  Install the package that has the named library in the named major version, or a build of the program for the release
  that is installed here. If it is installed, tell the loader (ldconfig). Do not link another major version under the
  missing name.

References
  https://man7.org/linux/man-pages/man8/ld.so.8.html
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/post-install.html
"""

from __future__ import annotations

from rocdoctor.insight.software.installing import find_library, finders, in_order, install_library
from rocdoctor.insight.software.libraries import Library, library
from rocdoctor.insight.texts.pasted import in_container, said, shown, vendors, when_said
from rocdoctor.judging.check import Finding, Fix, Outcome, check, error
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Machine, Message
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.shell_command import ShellCommand, shell

_KIND, _WANTED, _ON_DISK = "missing-library", "library-wanted", "library-on-disk"
# NCCL and RCCL look for plugins at every start, and have their own code in place of each.
_PLUGIN = regex(r"lib[nr]?ccl-(?:net|tuner|profiler|env|gin|mixed)\b")
# A line that a program marks as information: it goes on.
_QUIET = regex(r"(?:^|[\s\[(|=])(?:INFO|DEBUG|TRACE|info|debug)(?=[\s\]:)|])")
_RAISED = regex(r"\b(?:\w{0,40}(?:Error|Exception)\b: |error while loading)")
# What a program says that does without the library.
_GOES_ON = regex(
    r"(?i)\b(?:using (?:the )?(?:internal|built-?in|default|bundled)|fall(?:ing|s)? ?back|(?:continuing|proceeding|"
    r"running) without|(?:is )?optional|will not be used|if you do not have a gpu|no plugin found)\b"
)
_CONTAINER = "container-driver-library"


@check(when_said(_KIND, _WANTED), cause="missing-shared-library")
def missing_shared_library_message(machine: Machine) -> Outcome:
    found: list[Finding] = []
    for message in said(machine, _KIND):
        name = str(message.values.get("library") or f"lib{message.values.get('link', '')}.so")
        one = library(name)
        before = message.text.partition(name)[0]
        informed = _QUIET.search(before) and not _RAISED.search(before)
        if _PLUGIN.match(name) or _GOES_ON.search(message.text) or informed:
            continue
        if name.startswith("libnvinfer") and "dlerror: " in message.text:
            continue  # TensorFlow has kernels of its own for all that TensorRT would do
        if one.owner == "driver" and said(machine, _CONTAINER):
            continue
        if any(name in other.message for other in found):
            continue
        found.append(_judge(machine, message, one))
    if not found:
        others = (_other_version(machine, message) for message in said(machine, _WANTED))
        found = [other for other in others if other is not None]
    return found[:3]


def _other_version(machine: Machine, message: Message) -> Finding | None:
    """A library that somebody says is wanted, where a listing shows it in another major version only."""
    one = library(str(message.values.get("library", "")))
    there = _majors(machine, one)
    if not one.major or not there or one.major in there:
        return None
    return error(
        f"{one.name} is needed, but the version here is {', '.join(there)}: the program was built for another "
        f"release{' of ROCm' if one.owner == 'rocm' else ''}.",
        evidence=shown((message, *said(machine, _ON_DISK)[:1])),
        fix=Fix(
            "Install a build (version) of the program or plugin that is built for the release that is installed here, "
            "or "
            "that release's libraries alongside it; another major version under the missing name does not fit",
            command=shell("ldconfig -p | grep {stem:library}", stem=one.stem),
        ),
        confidence="likely",
    )


def _majors(machine: Machine, one: Library) -> tuple[str, ...]:
    """The major versions of a library that listings in the text show."""
    listed = [message.values for message in said(machine, _ON_DISK)]
    return tuple(dict.fromkeys(str(row.get("major")) for row in listed if row.get("stem") == one.stem))


def _judge(machine: Machine, message: Message, one: Library) -> Finding:
    here = vendors(machine)
    if one.owner in ("cuda", "driver") and here == {"amd"}:
        return error(
            f"{one.name} belongs to NVIDIA's {'driver' if one.owner == 'driver' else 'CUDA'}, but this machine "
            f"has an AMD "
            "GPU: a CUDA build is installed.",
            evidence=shown([message]),
            fix=Fix(
                "Install the ROCm build of this package (and of torch) instead of the CUDA build; installing "
                "CUDA does "
                "not help"
            ),
            cause="wrong-backend-build",
            confidence="likely",
            explains=("missing-shared-library",),
        )
    if one.owner == "rocm" and here == {"nvidia"}:
        return error(
            f"{one.name} belongs to ROCm, but this machine has an NVIDIA GPU: a ROCm build is installed.",
            evidence=shown([message]),
            fix=Fix("Install the CUDA build of this package instead of the ROCm build"),
            cause="wrong-backend-build",
            confidence="likely",
            explains=("missing-shared-library",),
        )
    if one.owner == "torch" and "cuda" in one.stem and here == {"amd"}:
        return error(
            f"{one.name} belongs to torch for CUDA, and this machine has an AMD GPU: the "
            "extension that needs it was built for NVIDIA.",
            evidence=shown([message]),
            fix=Fix(
                "Install a ROCm build of the extension, or build it from source against the installed torch for ROCm; "
                "installing CUDA does not help"
            ),
            cause="wrong-backend-build",
            confidence="likely",
            explains=("missing-shared-library", "python-package-mismatch"),
        )
    if one.owner == "torch":
        return error(
            f"An extension was built for another torch: {one.name} is not part of the installed one (another "
            f"release, or "
            "CUDA instead of ROCm or CPU).",
            evidence=shown([message]),
            fix=Fix(
                "Reinstall the extension (torchvision, torchaudio, xformers ...) in the build that matches the "
                "installed "
                "torch, from the same index, or rebuild it"
            ),
            cause="python-package-mismatch",
            confidence="likely",
            explains=("missing-shared-library",),
        )
    there = _majors(machine, one)
    other = there and one.major and one.major not in there
    beside = f" The version here is {', '.join(there)}: it was built for another release." if other else ""
    return error(
        f"The shared library {one.name} is not installed, or not where the loader searches.{beside}",
        evidence=shown([message]),
        fix=_fix(machine, one),
        confidence="likely",
    )


def _of_cuda(one: Library, major: str, cuda: str | None) -> str:
    """What to install for a library of CUDA: most have a number of their own, not that of the CUDA release."""
    if not one.numbered_as_cuda:
        which = f" {cuda} that torch was built for" if cuda else " release that the program was built for"
        named = f" in the version that {one.name} asks for ({one.major} is its own number, not that of CUDA)"
        return (
            f"Install {one.package}{named if one.major else ''}, for the CUDA{which}, as a wheel or package, or use a "
            "build of the program for the version that is here; add its folder to LD_LIBRARY_PATH or ldconfig"
        )
    return (
        f"Install {one.package} of CUDA{major} (the version that {one.name} names"
        f"{f'; torch has CUDA {cuda}' if cuda else ''}), as a wheel "
        f"(nvidia-...-cu{(one.major or '12').split('.')[0]}) "
        "or toolkit, or use a build of the program for the CUDA release that is here; add its folder to "
        "LD_LIBRARY_PATH or ldconfig"
    )


def _fix(machine: Machine, one: Library) -> Fix:
    verify = shell("ldconfig -p | grep {stem:library}", stem=one.stem)
    if one.owner == "driver":
        inside = " and start the container with --gpus all" if in_container(machine) else ""
        return Fix(
            f"Install the NVIDIA driver on the host, which includes {one.name}{inside}", "nvidia-smi", verify=verify
        )
    major = f" {one.major}" if one.major else ""
    if one.owner == "rocm":
        release = value_or(machine.rocm[0].version, None) if machine.rocm else None
        named = machine.rocm[0].root if machine.rocm else ""
        root = named if named.startswith("/") else "/opt/rocm"
        return Fix(
            f"Install the ROCm package {one.package} in the release whose library has version{major}"
            f"{f' (ROCm {release} is installed)' if release else ''}, or a build of the program for the installed ROCm "
            f"release. If {one.name} is under {root}/lib, add that folder to the loader (ld.so.conf.d, ldconfig, or "
            "LD_LIBRARY_PATH)",
            command=in_order(
                shell("ls {root:path}/lib/{stem:library}.so*", root=root, stem=one.stem),
                install_library(machine, one),
                ShellCommand("sudo ldconfig"),
            ),
            verify=verify,
        )
    if one.owner == "cuda":
        cuda = machine.torch.cuda.value if isinstance(machine.torch.cuda, Known) else None
        return Fix(
            _of_cuda(one, major, cuda),
            command=shell("pip list | grep -i nvidia; ldconfig -p | grep {stem:library}", stem=one.stem),
            verify=verify,
        )
    if one.package is not None:
        return Fix(
            f"Install the package that contains it ({one.package}) in the version{major} that the binary asks for; "
            f"do not link "
            "another version under this name",
            command=in_order(install_library(machine, one), ShellCommand("sudo ldconfig")),
            safety="safe",
            verify=verify,
        )
    return Fix(
        f"Find the package that contains {one.name} ({finders()}) and install it; if it is there, "
        "add its folder to the "
        "loader with ldconfig or LD_LIBRARY_PATH",
        command=in_order(
            shell("sudo find / -name '{stem:library}.so*' 2>/dev/null", stem=one.stem), find_library(machine, one.name)
        ),
        verify=verify,
    )
