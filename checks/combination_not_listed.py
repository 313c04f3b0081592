"""AMD does not list this combination of card, system, kernel and driver for the installed ROCm.

Why
  AMD tests each ROCm release with certain releases of distributions, each with certain kernels, and lists them card by
  card: Radeon cards on Ubuntu 24.04 with the HWE kernel, for example, Instinct with the GA kernel and the packaged
  driver. A combination that is not listed may well work, but nobody has tested it. Ryzen AI Max (gfx1151) is
  stricter: older kernels lack fixes of the compute driver, and AMD calls them unsupported because programs may fail to
  start or behave unpredictably.

Fix
  If everything works, there is nothing to do. If something fails, first use a combination that AMD lists: on Ubuntu a
  newer kernel is one package away. Ryzen AI Max: use a kernel that has the fixes.

References
  https://rocm.docs.amd.com/en/latest/compatibility/compatibility-matrix.html
  https://rocm.docs.amd.com/en/latest/reference/system-optimization/rdna3-5.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import has_node
from rocdoctor.insight.software.combination import combination
from rocdoctor.insight.software.torch_stack import backend
from rocdoctor.judging.check import (
    Evidence,
    Fix,
    Outcome,
    check,
    cite,
    each_amd_gpu,
    info,
    not_applicable,
    unknown,
    warning,
)
from rocdoctor.knowledge.gpus.gfx import gfx_target
from rocdoctor.knowledge.install import ListedSupport, difference_words, judged_support, release_lists
from rocdoctor.knowledge.load import numbers
from rocdoctor.model.evidence import Known, Unknown, value_or
from rocdoctor.model.facts import Gpu, Machine


@check(each_amd_gpu, cause="gpu-not-supported")
def combination_not_listed(machine: Machine, gpu: Gpu) -> Outcome:
    if not has_node(gpu):
        return not_applicable("the driver does not offer this GPU for compute")
    if not isinstance(machine.container.kind, Known):
        raise unknown("it is not known whether this is a container, and from inside one the host system cannot be seen")
    found = combination(machine, gpu, _rocm(machine))
    if isinstance(found, Unknown):
        return not_applicable(found.why)
    answer = judged_support(found)
    if answer.state == "fails":
        return not_applicable("other checks report what cannot run at all")
    # the card alone is told by rocm-gpu-support-window; the kernel's own driver is common and works with Radeon
    target = gfx_target(found.gfx)
    instinct = target is not None and target.family.startswith("cdna")
    said = difference_words(answer, "distribution", "release", "kernel", *(("driver",) if instinct else ()))
    if said:
        harmed = (
            answer.refused
            and value_or(backend(machine.torch), "") == "rocm"
            and value_or(machine.torch.device_count, None) == 0
        )
        return (warning if harmed else info)(
            said,
            evidence=_evidence(machine, gpu),
            fix=Fix(
                _advice(answer, found.distribution), safety="manual", verify="rocdoctor check combination-not-listed"
            ),
            confidence="likely",
        )
    if release_lists(found.rocm) is None:
        return not_applicable("AMD's lists by card were read for ROCm 7.14 and newer, and none of them is known here")
    if answer.state == "unknown":
        raise unknown("the distribution, the kernel or the driver is not known here", "undecided")
    return None


def _rocm(machine: Machine) -> str:
    """The newest ROCm of AMD's packages, else that of the installed torch; "" for none."""
    told = [value_or(one.version, "") for one in machine.rocm if one.kind in ("core", "classic")]
    if told:
        return max(told, key=numbers)
    _, _, local = (value_or(machine.torch.version, None) or "").partition("+")
    return local.removeprefix("rocm") if local.startswith("rocm") else ""


def _evidence(machine: Machine, gpu: Gpu) -> list[Evidence]:
    facts = (machine.os.version_id, machine.kernel.release, gpu.gfx)
    return [cite(fact) for fact in facts if isinstance(fact, Known)]


def _advice(answer: ListedSupport, distribution: str) -> str:
    asked = [want for one in answer.of("kernel") if one.refused for want in one.want]
    here = [f"{one.name} with {one.kernel_words}" for one in answer.instead if one.distribution == distribution]
    listed = "; ".join(here or dict.fromkeys(one.name for one in answer.instead))
    if asked:
        return f"Boot {asked[0]}" + (f" (AMD lists {listed})" if here else "")
    return f"Nothing to do while it works; AMD lists for this card: {listed}"
