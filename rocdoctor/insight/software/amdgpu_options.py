"""Parameters of the amdgpu module: the value in effect, and whether it is the risky side of its default."""

from __future__ import annotations

from rocdoctor.judging.check import cite, quote
from rocdoctor.knowledge.lookup import ModuleParameter
from rocdoctor.model.evidence import Known, known
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Evidence
from rocdoctor.parsers.formats.text import kernel_int

_FOLDER = "/sys/module/amdgpu/parameters"
# What an unset parameter shows: no text, a null pointer, -1 as signed and as unsigned number.
_UNSET = ("", "(null)", "-1", "4294967295")
_NO = ("0", "n", "no", "off", "false")


def option(machine: Machine, name: str) -> tuple[str, Evidence]:
    """The value in effect of a parameter and its evidence; ends the check as unknown where nothing tells it."""
    live = machine.kernel.module_parameters.get("amdgpu", {})
    if name in live:
        return live[name], quote(f"read {_FOLDER}/{name}", live[name])
    given = machine.kernel.parameters
    if isinstance(given, Known) and f"amdgpu.{name}" in given.value:
        value = given.value[f"amdgpu.{name}"]
        return value, cite(machine.kernel.cmdline, f"amdgpu.{name}={value}")
    if live:
        return "", quote(f"read {_FOLDER}/{name}", "not there")
    known(given)
    return "", cite(given, f"amdgpu.{name} is not set")


def is_risky(parameter: ModuleParameter, value: str) -> bool:
    """Whether a value is the side that the table warns of.

    A switch that is on (or automatic) by default is risky when off, one that is off by default when on, and a mask when
    it leaves anything out. The default spelled out, and "on" for an automatic switch, are healthy.
    """
    plain, default = value.strip().strip('"').lower(), parameter.default.lower()
    if plain in _UNSET or plain == default:
        return False
    if default.startswith("0x"):
        return parameter_bits(plain) not in (None, parameter_bits(default))
    if default in ("-1", "1", "y"):
        return plain in _NO
    if default in ("0", "n", ""):
        return plain not in _NO
    return False


def parameter_bits(text: str) -> int | None:
    """The 32 bits of a number as the kernel takes it for a parameter; None for what is none."""
    value = kernel_int(text)
    return None if value is None else value & 0xFFFFFFFF
