"""Kernel modules: what is loaded, with which version and parameters, and what modprobe and DKMS were told."""

from __future__ import annotations

from collections.abc import Mapping

from rocdoctor.collect.reading import names_in
from rocdoctor.collect.recorded_outputs import outputs
from rocdoctor.host.base import Answer, Host
from rocdoctor.model.evidence import Fact, Known, Source, Unknown
from rocdoctor.parsers.kernel.kernel_modules import ModprobeRule, parse_dkms_status, parse_modprobe, parse_modules
from rocdoctor.parsers.kernel.running_kernel import parse_cmdline
from rocdoctor.parsers.nvidia.nvidia_proc import parse_nvidia_params

# Modules whose version and parameters matter; the first three also in the names of AMD's own packages.
VERSIONED = ("amdgpu", "nvidia", "i915", "xe", "radeon", "nouveau")
PARAMETERS = ("amdgpu", "amdttm", "ttm", "amdkcl", "radeon", "nvidia_drm", "nvidia_uvm", "i915", "xe", "nouveau")

_FOLDERS = (
    "/etc/modprobe.d",
    "/run/modprobe.d",
    "/usr/lib/modprobe.d",
    "/lib/modprobe.d",
)  # the first of a name counts
_BUILT_IN = ("list /sys/module/*/parameters", "list /sys/module/*/initstate")
_DKMS = ("list /var/lib/dkms/*/*/source", "list /var/lib/dkms/*/*/*/*/module", "list /var/lib/dkms/*/kernel-*")


def prefetch(host: Host) -> None:
    """Start on what is always asked."""
    host.prefetch(["read /proc/modules", *_BUILT_IN, *(f"list {folder}/*.conf" for folder in _FOLDERS), *_DKMS])


def loaded(host: Host) -> tuple[Fact[frozenset[str]], bool]:
    """The modules in the kernel (loaded ones, and built-in ones with parameters), and whether these are all."""
    answer = host.ask("read /proc/modules")
    names = {path.split("/")[3] for question in _BUILT_IN for path in _lines(host.ask(question))}
    if answer.ok:
        names |= set(parse_modules(answer.text))
        return Known(frozenset(names), answer.source()), answer.complete and not answer.truncated
    for _, output in outputs(host, "lsmod"):
        listed = set(parse_modules(output.text))
        if listed:
            whole = output.complete and not output.truncated
            return Known(frozenset(names | listed), output.source()), whole
    return answer.unknown(), False


def _lines(answer: Answer) -> list[str]:
    return answer.lines() if answer.ok else []


def _present(modules: Fact[frozenset[str]], names: tuple[str, ...]) -> list[str]:
    return [name for name in names if not isinstance(modules, Known) or name in modules.value]


def versions(host: Host, modules: Fact[frozenset[str]]) -> dict[str, Fact[str]]:
    """Versions that loaded modules state. A driver that came with the kernel states none ("absent")."""
    names = _present(modules, VERSIONED)
    host.prefetch(f"read /sys/module/{name}/version" for name in names)
    found: dict[str, Fact[str]] = {}
    for name in names:
        answer = host.ask(f"read /sys/module/{name}/version")
        word = answer.text.strip() if answer.ok else ""
        if word:
            found[name] = Known(word[:100], answer.source(1))
        elif isinstance(modules, Known) and answer.status == "absent":
            why = f"the {name} module states no version: it came with the kernel"
            found[name] = Unknown(why, "absent", answer.source())
    return found


def parameters(host: Host, modules: Fact[frozenset[str]]) -> dict[str, Mapping[str, str]]:
    """The parameters in effect, by module and name; those that only root may read are left out."""
    found: dict[str, Mapping[str, str]] = {}
    names = _present(modules, PARAMETERS)
    patterns = {name: f"/sys/module/{name}/parameters/*" for name in names}
    host.prefetch(f"list {pattern}" for pattern in patterns.values())
    for name, pattern in patterns.items():
        paths = names_in(host, pattern)
        host.prefetch(f"read {path}" for path in paths)
        answers = {path.rsplit("/", 1)[-1]: host.ask(f"read {path}") for path in paths}
        values = {key: answer.text.strip() for key, answer in answers.items() if answer.ok}
        if values:
            found[name] = values
    answer = host.ask("read /proc/driver/nvidia/params")
    values = parse_nvidia_params(answer.text) if answer.ok else {}
    if values:
        # The file drops the prefix that the names have everywhere else.
        found["nvidia"] = {key if key.startswith("NVreg_") else f"NVreg_{key}": value for key, value in values.items()}
    return found


def _rules(host: Host) -> tuple[list[tuple[ModprobeRule, str]], Unknown | None]:
    """(rules with their files, why there may be more)."""
    gap: Unknown | None = None
    files: dict[str, str] = {}
    for folder in _FOLDERS:
        answer = host.ask(f"list {folder}/*.conf")
        if not (answer.ok and answer.complete):
            gap = gap or Unknown("this evidence may not show every file of modprobe.d", "not-asked", answer.source())
        for path in _lines(answer):
            files.setdefault(path.rsplit("/", 1)[-1], path)
    host.prefetch(f"read {path}" for path in files.values())
    rules: list[tuple[ModprobeRule, str]] = []
    for path in files.values():
        answer = host.ask(f"read {path}")
        if not answer.ok:
            gap = gap or answer.unknown()
            continue
        rules += [(rule, path) for rule in parse_modprobe(answer.text)]
    return rules, gap


def modprobe(host: Host) -> tuple[Fact[Mapping[str, str]], Fact[Mapping[str, str]]]:
    """(modules kept out -> file and line, "module.parameter" -> value) from modprobe.d and the command line.

    With files missing from the evidence, what was found still counts, but nothing found is unknown.
    """
    rules, gap = _rules(host)
    kept_out: dict[str, str] = {}
    options: dict[str, str] = {}
    for rule, path in rules:
        if rule.blocks:
            kept_out.setdefault(rule.module, f"{path}:{rule.line}")
        for name, value in rule.options.items():
            options[f"{rule.module}.{name}"] = value or ""
    answer = host.ask("read /proc/cmdline")
    if answer.ok:
        for name in parse_cmdline(answer.text).blacklisted_modules():
            kept_out.setdefault(name, "/proc/cmdline:1")
    source = Source(f"list {_FOLDERS[0]}/*.conf")
    return (
        Known(kept_out, source) if kept_out or gap is None else gap,
        Known(options, source) if options or gap is None else gap,
    )


def dkms(host: Host) -> Fact[tuple[str, ...]]:
    """What DKMS holds, spelled as ``dkms status`` does: "amdgpu/6.8.5, 6.8.0-45-generic, x86_64: installed"."""
    for arguments, output in outputs(host, "dkms"):
        if arguments[:1] in (["status"], []):
            entries = parse_dkms_status(output.text)
            spelled = tuple(
                ", ".join(word for word in (f"{one.module}/{one.version}", one.kernel, one.arch) if word)
                + f": {one.state}"
                for one in entries
            )
            return Known(spelled, output.source())
    answers = [host.ask(question) for question in _DKMS]
    added, built, links = (_lines(answer) for answer in answers)
    installed = {tuple(path.split("/")[4:6]) for path in links}
    found: list[str] = []
    with_build: set[tuple[str, str]] = set()
    for path in built:
        module, version, kernel, arch = path.split("/")[4:8]
        with_build.add((module, version))
        state = "installed" if (module, f"kernel-{kernel}-{arch}") in installed else "built"
        found.append(f"{module}/{version}, {kernel}, {arch}: {state}")
    for path in added:
        module, version = path.split("/")[4:6]
        if (module, version) not in with_build:
            found.append(f"{module}/{version}: added")
    if found or all(answer.ok and answer.complete for answer in answers):
        return Known(tuple(sorted(found)), answers[0].source())
    return Unknown("this evidence does not show what DKMS holds", "not-asked", answers[0].source())
