"""A card is connected through a riser or adapter and shows errors.

Why
  Risers (USB-style mining risers most of all), cables and adapters weaken the signal or provide only one lane:
  transfers are slow or fail verification, or the link drops. Each part works alone in a proper slot.

Fix
  Put the card directly into a slot, or use a short shielded riser for the PCIe generation. As a test, set a lower PCIe
  generation in the firmware setup. lspci shows the width and speed of the link and its error counters.

References
  Linux: Documentation/PCI/pcieaer-howto.rst
  https://man7.org/linux/man-pages/man8/lspci.8.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import said, shown, when_said
from rocdoctor.judging.check import Fix, Outcome, check, not_applicable, warning
from rocdoctor.knowledge.messages.told import TROUBLE
from rocdoctor.model.facts import Machine

_NAMES = ("mentions-", "sign-domain", "sign-amd", "sign-nvidia", "sign-of-", "told-")  # kinds that tell of no trouble


@check(when_said("mentions-riser"), cause="pcie-link-degraded")
def riser_message(machine: Machine) -> Outcome:
    messages = said(machine, "mentions-riser")
    if not said(machine, TROUBLE) and all(one.kind.startswith(_NAMES) for one in machine.messages):
        return not_applicable("a riser is mentioned, but no trouble")
    return warning(
        "The card is connected through a riser or adapter, which often makes the PCIe link narrow, slow or unreliable.",
        evidence=shown(messages),
        fix=Fix(
            "Put the card directly into a slot that is wired to the CPU and repeat the test. If "
            "that is not possible, check width, "
            "speed and error counters of the PCIe link and try a better riser or a lower PCIe generation",
            command="sudo lspci -vv | grep -E 'LnkCap|LnkSta|AER|CESta'; sudo dmesg | grep -i aer",
            verify="sudo lspci -vv | grep LnkSta",
        ),
        confidence="possible",
        explains=("pcie-link-narrow",),
    )
