"""What a text says in its own words, where no better source of the evidence tells."""

from __future__ import annotations

import re
from dataclasses import replace

from rocdoctor.collect.gpus.merged import GpuView
from rocdoctor.collect.gpus.records import PROSE, GpuRecord
from rocdoctor.collect.gpus.tool import Tools
from rocdoctor.collect.gpus.tools import lspci, rccl_topo
from rocdoctor.collect.software.listed_software import COLLECT_ENV
from rocdoctor.host.base import Host
from rocdoctor.knowledge.lookup import chip_of_device, profiles_by_name
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source, Unknown
from rocdoctor.model.facts import CommandLine, Cpus, CudaToolkit, Gpu, Kernel, Machine, OperatingSystem, RocmInstall
from rocdoctor.parsers.listings.collect_env import parse_collect_env
from rocdoctor.parsers.logs.nccl_log import parse_nccl_log
from rocdoctor.parsers.own.commands import parse_commands
from rocdoctor.parsers.own.statements import Statement, of_field, parse_stated
from rocdoctor.parsers.system.os_name import parse_os_name

# The root of an installation that is only spoken of.
UNNAMED_ROOT = "(not named)"


def statements(host: Host) -> tuple[Statement, ...]:
    """The statements of a pasted text; none for any other evidence."""
    answer = host.ask("stated") if "stated" in host.available() else None
    return parse_stated(answer.text) if answer is not None and answer.ok else ()


def collect_commands(host: Host) -> tuple[CommandLine, ...]:
    """The command lines of a pasted text; none for any other evidence."""
    answer = host.ask("commands") if "commands" in host.available() else None
    return parse_commands(answer.text) if answer is not None and answer.ok else ()


def add_log_of_nccl(host: Host, view: GpuView) -> None:
    """GPUs that a log of NCCL or RCCL names by their bus ids, where nothing else shows any and the vendor is clear."""
    answer = host.ask("log nccl") if "log nccl" in host.available() else None
    log = parse_nccl_log(answer.text) if answer is not None and answer.ok else None
    if answer is None or log is None or view.records or not (log.hip or log.cuda):
        return
    for gpu in log.gpus if log.world == len(log.gpus) else ():
        record = GpuRecord(rccl_topo.SOURCE, "amd" if log.hip else "nvidia", bdf=gpu.bdf)
        record.put("bdf", gpu.bdf, answer.question, gpu.line)
        record.put("torch_index", gpu.device, answer.question, gpu.line)
        view.records.append(record)


def add_cards(host: Host, view: GpuView) -> None:
    """GPUs that a text names: those of a vendor of which nothing else shows a GPU.

    Where something else does, a name can only fill gaps, and only when it is clear which GPU it belongs to.
    """
    cards = [one for one in statements(host) if one.field == "gpu" and one.vendor]
    for vendor in dict.fromkeys(card.vendor for card in cards):
        mine = [card for card in cards if card.vendor == vendor]
        shown = [record for record in view.records if record.vendor == vendor]
        if not shown:
            view.records += [_record(card) for card in mine for _ in range(card.count)]
            continue
        devices = {record.bdf or (record.source, record.position) for record in shown}
        sources = {record.source for record in shown}
        named = any(key in record.facts for record in shown for key in ("gfx", "pci_id", "name"))
        plain = [card for card in mine if not card.integrated]
        if len(mine) == 1 and (len(devices) == 1 or (len(sources) == 1 and not named)):
            view.records += [_record(mine[0]) for _ in devices]
        elif len(plain) == len(mine) == len(devices) == 1:
            view.records.append(_record(plain[0]))


def add_tree(view: GpuView, tools: Tools) -> None:
    """GPUs of a tree of `lspci -t`, which prints no classes: AMD devices of a number that the driver's table has."""
    for devices, answer in tools.of(lspci.TOOL):
        for device in devices:
            number = re.search(r"AMD/ATI\]? Device ([0-9a-f]{4})\Z", device.name or "")
            if device.class_code is None and number and chip_of_device(number[1]) is not None:
                record = GpuRecord(lspci.SOURCE, "amd", bdf=device.bdf)
                record.put("bdf", device.bdf, answer.question, device.line)
                record.put("pci_id", f"1002:{number[1]}", answer.question, device.line)
                view.records.append(record)


def _record(card: Statement) -> GpuRecord:
    record = GpuRecord(PROSE, card.vendor or "other")
    for key, value in (
        ("name", card.value),
        ("gfx", card.gfx),
        ("compute_capability", card.compute_capability),
        ("integrated", card.integrated),
    ):
        record.put(key, value, "text", card.line)
    return record


def filled(host: Host, machine: Machine) -> Machine:
    """The machine with what a text states of its system, where that is not known otherwise."""
    told = statements(host)
    if not told and COLLECT_ENV not in host.available():
        return machine
    changed = replace(machine, os=_os(host, machine, told), kernel=_kernel(host, machine, told))
    changed = replace(changed, cpus=_cpus(machine.cpus, told), drivers=_drivers(host, machine, told))
    changed = replace(changed, rocm=_rocm(machine, told), cuda_toolkits=_cuda(machine, told))
    changed = replace(changed, gpus=tuple(_by_name(gpu) for gpu in machine.gpus))
    container, memory = machine.container, machine.memory
    kind, shm = of_field(told, "container"), of_field(told, "shm_bytes")
    options = [one for one in told if one.field == "launch" and one.value]
    if kind is not None and isinstance(container.kind, Unknown):
        container = replace(container, kind=_known(kind))
    if options and isinstance(container.options, Unknown):
        found: dict[str, tuple[str, ...]] = {}
        for one in options:
            name, _, value = (one.value or "").partition("=")
            found[name] = (*found.get(name, ()), value)
        container = replace(container, options=Known(found, Source("text", options[0].line)))
    if shm is not None and isinstance(memory.shm_bytes, Unknown):
        memory = replace(memory, shm_bytes=Known(int(shm.value or 0), Source("text", shm.line)))
    return replace(changed, container=container, memory=memory)


def _by_name(gpu: Gpu) -> Gpu:
    """The gfx target by the name, where every part that the name may mean has the same ("RX 7900 XT/7900 XTX")."""
    if gpu.vendor != "amd" or isinstance(gpu.gfx, Known) or not isinstance(gpu.name, Known):
        return gpu
    parts = profiles_by_name(gpu.name.value)
    targets = {one.gfx for one in parts}
    if len(targets) != 1 or None in targets:
        return gpu
    return replace(gpu, gfx=Known(parts[0].gfx or "", Source(f"table profiles/{parts[0].family}.yaml")))


def _known(one: Statement) -> Known[str]:
    return Known(one.value or "", Source("text", one.line))


def _or(fact: Fact[str], told: tuple[Statement, ...], field: str) -> Fact[str]:
    one = of_field(told, field)
    return fact if isinstance(fact, Known) or one is None else _known(one)


def _os(host: Host, machine: Machine, told: tuple[Statement, ...]) -> OperatingSystem:
    system = machine.os
    if isinstance(system.id, Known) or isinstance(system.pretty_name, Known):
        return system
    answer = host.ask(COLLECT_ENV)
    env = parse_collect_env(answer.text) if answer.ok else None
    said = of_field(told, "os")
    text, source = "", Source("text")
    if env is not None and env.os:
        text, source = env.os, answer.source(env.lines.get("os"))
    elif said is not None:
        text, source = said.value or "", Source("text", said.line)
    name = parse_os_name(text)
    if name is None:
        return system

    def fact(value: str | None) -> Fact[str]:
        return NOT_ASKED if value is None else Known(value, source)

    return OperatingSystem(fact(name.id), fact(name.version_id), fact(name.pretty_name), system.id_like)


def _kernel(host: Host, machine: Machine, told: tuple[Statement, ...]) -> Kernel:
    release = machine.kernel.release
    if isinstance(release, Unknown):
        answer = host.ask(COLLECT_ENV)
        env = parse_collect_env(answer.text) if answer.ok else None
        if env is not None and env.kernel:
            release = Known(env.kernel, answer.source(env.lines.get("platform")))
    return replace(machine.kernel, release=_or(release, told, "kernel"))


def _cpus(cpus: Cpus, told: tuple[Statement, ...]) -> Cpus:
    return replace(cpus, model=_or(cpus.model, told, "cpu"))


def _drivers(host: Host, machine: Machine, told: tuple[Statement, ...]) -> dict[str, dict[str, Fact[str]]]:
    drivers = {name: dict(versions) for name, versions in machine.drivers.items()}
    answer = host.ask(COLLECT_ENV)
    env = parse_collect_env(answer.text) if answer.ok else None
    version, cuda = of_field(told, "driver"), of_field(told, "driver_cuda")
    if "nvidia" not in drivers:
        if env is not None and env.driver and re.match(r"\d{3}\.", env.driver):
            drivers["nvidia"] = {"version": Known(env.driver, answer.source(env.lines.get("driver")))}
        elif version is not None:
            drivers["nvidia"] = {"version": _known(version)}
    amdgpu = of_field(told, "amdgpu_driver")
    if amdgpu is not None and "amdgpu" not in drivers:
        drivers["amdgpu"] = {"version": _known(amdgpu)}
    if cuda is not None and not isinstance(drivers.get("nvidia", {}).get("cuda"), Known):
        drivers.setdefault("nvidia", {"version": NOT_ASKED})["cuda"] = _known(cuda)
    return drivers


def _rocm(machine: Machine, told: tuple[Statement, ...]) -> tuple[RocmInstall, ...]:
    roots = {one.value: one for one in told if one.field == "rocm_root" and one.value}
    known = {one.root for one in machine.rocm}
    found = [
        RocmInstall(Known(root.rsplit("-", 1)[1], Source("text", one.line)), root, "classic")
        for root, one in sorted(roots.items())
        if root not in known
    ]
    said = of_field(told, "rocm")
    if not machine.rocm and not found and said is not None:
        found = [RocmInstall(_known(said), UNNAMED_ROOT, "classic")]
    return (*machine.rocm, *found)


def _cuda(machine: Machine, told: tuple[Statement, ...]) -> tuple[CudaToolkit, ...]:
    said = of_field(told, "cuda")
    if machine.cuda_toolkits or said is None:
        return machine.cuda_toolkits
    return (CudaToolkit(_known(said), UNNAMED_ROOT),)
