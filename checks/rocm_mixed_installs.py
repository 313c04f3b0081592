"""Files or search paths of more than one ROCm release are mixed.

Why
  Libraries of one ROCm release are built for each other. When packages of two releases share a prefix, or
  LD_LIBRARY_PATH names one release and ROCM_PATH another, a program loads some of each: "undefined symbol", "version
  not found", or faults that nobody else sees. Several releases side by side in their own folders are fine.

Fix
  Keep only one release on LD_LIBRARY_PATH, PATH and ROCM_PATH (wheels need none of them), and update all
  packages to one release.

References
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/install-methods/multi-version-install-index.html
  https://man7.org/linux/man-pages/man8/ld.so.8.html
"""

from __future__ import annotations

from rocdoctor.insight.software.rocm_roots import install_of, package_summary, releases, roots_on, version_of
from rocdoctor.insight.software.torch_stack import works
from rocdoctor.judging.check import Finding, Fix, Outcome, check, cite, info, quote, warning, whole_machine
from rocdoctor.model.evidence import Known, known
from rocdoctor.model.facts import Machine


@check(whole_machine, cause="mixed-rocm-installs")
def rocm_mixed_installs(machine: Machine) -> Outcome:
    found = [one for one in (_packages(machine), _paths(machine)) if one is not None]
    if found:
        return found
    if not isinstance(machine.rocm_packages, Known) and not machine.environment.complete:
        known(machine.rocm_packages)
    return None


def _packages(machine: Machine) -> Finding | None:
    summary = package_summary(machine)
    if summary is None or not summary.mixed:
        return None
    shown = ", ".join(f"{one.name} {one.version}" for one in summary.outsiders[:5])
    strays = sorted({one.release for one in summary.outsiders if one.release})
    shared = {
        one.release for one in summary.packages if one.stream == "classic" and not one.side_by_side and one.release
    }
    main = sorted(shared - set(strays))
    count = len(summary.outsiders)
    return warning(
        f"ROCm packages of releases {', '.join([*main, *strays])} are mixed in one prefix: {count} of them "
        f"{'is' if count == 1 else 'are'} not of {main[0] if main else 'the main release'}.",
        evidence=[cite(machine.rocm_packages, shown)],
        fix=Fix(
            "Bring all ROCm packages to one release: keep one package source, then upgrade or remove the others",
            safety="manual",
        ),
        explains=("torch-import-fails", "torch-rocm-vs-system-rocm"),
    )


def _paths(machine: Machine) -> Finding | None:
    variables = machine.environment.variables
    named: dict[str, str] = {}  # what names it -> release
    evidence = []
    for name in ("LD_LIBRARY_PATH", "ROCM_PATH", "ROCM_HOME"):
        variable = variables.get(name)
        if variable is None:
            continue
        for root in roots_on(variable.value):
            version = version_of(machine, root)
            gone = machine.rocm_complete and install_of(machine, root) is None  # nothing can be loaded from there
            if version is not None and not gone:
                named[f"{name} ({root})"] = version
                evidence.append(quote(variable.source, f"{name}={variable.value}"[:300], variable.line))
    if len(releases(named.values())) < 2:
        return None
    shown = ", ".join(f"{what} is ROCm {version}" for what, version in named.items())
    return (info if works(machine, "rocm") else warning)(
        f"The search paths name more than one ROCm release: {shown}.",
        evidence=list(dict.fromkeys(evidence)),
        fix=Fix(
            "Let LD_LIBRARY_PATH and ROCM_PATH name one release, or unset both: wheels include their own libraries",
            command="unset LD_LIBRARY_PATH ROCM_PATH ROCM_HOME",
            unsets=("LD_LIBRARY_PATH", "ROCM_PATH", "ROCM_HOME"),
            safety="safe",
        ),
        explains=("torch-import-fails",),
        confidence="certain" if machine.environment.complete else "likely",
    )
