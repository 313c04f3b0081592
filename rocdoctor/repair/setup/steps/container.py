"""Containers: an engine, what it needs to hand on the GPUs, and the line that starts one with them."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.insight.gpus.access import KFD, node_at, opens, render_nodes, rootless_words
from rocdoctor.judging.check import cite
from rocdoctor.knowledge import install
from rocdoctor.knowledge.software.package_managers import package_managers
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Unknown, value_or
from rocdoctor.model.finding import Evidence
from rocdoctor.model.shell_command import shell
from rocdoctor.repair.setup.plan import Action, Layer, Step, Verify
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import (
    SELINUX_NOTE,
    actions_of,
    changes_of,
    fetched_by,
    for_caretaker,
    packages_action,
    sentence,
    sources_of,
    with_fresh_lists,
)

LAYER: Layer = "container"

_ENGINE, _RUN = "container-engine", "container-run"
_TOOLKIT = "nvidia-container-toolkit"
# The engine to propose: podman runs without a service and without root, and it is in most archives.
_PACKAGES = ("podman", "docker.io", "docker")
# Images by which the vendors' own pages show that the GPUs arrive, and the program that shows it. With their registry:
# podman looks up short names nowhere until somebody configures it.
_IMAGE = {"amd": "docker.io/rocm/pytorch", "nvidia": "docker.io/library/ubuntu"}
_SHOWS = {"amd": "rocminfo", "nvidia": "nvidia-smi"}
_PAGE = install.hosts()["nvidia_ctk"].page


def steps(situation: Situation) -> Sequence[Step]:
    """Engine, toolkit and start on a machine; inside a container what arrived of the GPUs. Only for this goal."""
    if situation.goal != "container":
        return ()
    if situation.enclosed:
        return (_inside(situation),)
    if situation.wsl:
        why = "The tables do not say how a container in WSL gets the Windows GPU."
        return (Step(_RUN, "Start a container with the GPU", "unknown", why, verify=Verify(command="docker info")),)
    vendors = [one.vendor for one in situation.targets if one.vendor in ("amd", "nvidia")]
    found = [_engine(situation)]
    if "nvidia" in vendors:
        found.append(_toolkit(situation))
    return (*for_caretaker(situation, found), *(_start(situation, vendor) for vendor in vendors[:1]))


def _program(situation: Situation, name: str) -> Fact[str | None]:
    return situation.machine.programs.get(name, NOT_ASKED)


def _engines(situation: Situation) -> list[str]:
    """The engines that are known to be installed."""
    return [name for name in ("docker", "podman") if value_or(_program(situation, name), None) is not None]


def _engine(situation: Situation) -> Step:
    title = "Container engine (docker or podman)"
    there = _engines(situation)
    if there:
        evidence = tuple(cite(_program(situation, name)) for name in there)
        notes = ("docker is used as root, or by members of the group docker, who are root in all but name.",)
        return Step(
            _ENGINE,
            title,
            "done",
            f"{' and '.join(there)} {'is' if len(there) == 1 else 'are'} installed.",
            evidence,
            notes=notes if "docker" in there else (),
        )
    if not all(isinstance(_program(situation, name), Known) for name in ("docker", "podman")):
        why = "The evidence does not show whether docker or podman is installed."
        return Step(_ENGINE, title, "unknown", why, verify=Verify(command="podman --version", shows="a version"))
    found = situation.distribution
    package = next((one for one in _PACKAGES if found is not None and install.package_exists(found, one)), None)
    evidence = tuple(cite(_program(situation, name), f"no {name}") for name in ("docker", "podman"))
    why = "Neither docker nor podman is installed."
    if package is None or situation.manager not in package_managers():
        gap = f"The tables do not say which package of {situation.os_words} provides one."
        return Step(_ENGINE, title, "unknown", f"{why} {gap}", evidence, verify=Verify(command="podman --version"))
    program = "podman" if package == "podman" else "docker"
    return Step(
        _ENGINE,
        f"Install {program}",
        "todo",
        why,
        evidence,
        with_fresh_lists([packages_action(situation.manager, "install", package)]),
        (package,),
        "safe",
        "now",
        Verify(command=shell("{program:name} --version", program=program), shows="a version"),
        (packages_action(situation.manager, "remove", package),),
    )


# -- NVIDIA's toolkit


def _toolkit(situation: Situation) -> Step:
    title, verify = "NVIDIA container toolkit", Verify(command="nvidia-ctk --version", shows="a version")
    here = _program(situation, "nvidia-ctk")
    notes = _toolkit_notes(situation)
    if isinstance(here, Known) and here.value is not None:
        return Step(_TOOLKIT, title, "done", "The toolkit is installed.", (cite(here),), verify=verify, notes=notes)
    if not isinstance(here, Known):
        why = "The evidence does not show whether the toolkit is installed."
        return Step(_TOOLKIT, title, "unknown", why, verify=verify, notes=notes)
    found = situation.distribution
    route = install.toolkit_steps(found, "nvidia") if found is not None else Unknown("the tables have no such row")
    why = "Containers get NVIDIA GPUs through NVIDIA's container toolkit, which is not installed."
    if isinstance(route, Unknown):
        return Step(
            _TOOLKIT,
            title,
            "unknown",
            f"{why} {sentence(route.why)}",
            (cite(here, "no nvidia-ctk"),),
            verify=verify,
            notes=(f"See {_PAGE}",),
        )
    if "docker" not in _engines(situation):
        route = tuple(one for one in route if one.id != "nv-ctk-docker")
    actions = with_fresh_lists(actions_of(route))
    files = (*(action.file for action in actions if action.file), *fetched_by(actions))
    undo = [packages_action(situation.manager, "remove", _TOOLKIT)]
    undo += [Action(words=("rm", "-f", file), root=True) for file in files]
    return Step(
        _TOOLKIT,
        f"Install the {title}",
        "todo",
        why,
        (cite(here, "no nvidia-ctk"),),
        actions,
        tuple(dict.fromkeys((*files, *changes_of(actions)))),
        "safe",
        "now",
        verify,
        tuple(undo),
        notes=notes,
        sources=sources_of(route),
        table="install_cluster",
        kind=install.weakest("install_cluster", sources_of(route)),
        needs=(_ENGINE,),
    )


def _toolkit_notes(situation: Situation) -> tuple[str, ...]:
    engines = _engines(situation)
    found: list[str] = []
    if "docker" in engines or not engines:
        found.append("docker needs this once: nvidia-ctk runtime configure --runtime=docker, then restart docker.")
    if "podman" in engines or not engines:
        found.append(
            "podman gets the GPUs through a CDI file. From toolkit 1.18 on, a service writes it. With an older "
            "toolkit, run nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml now and after each driver update."
        )
    return tuple(found)


# -- the start


def _start(situation: Situation, vendor: str) -> Step:
    engines = _engines(situation) or ["podman", "docker"]
    lines = [one for engine in engines if (one := _line(situation, vendor, engine)) is not None]
    mapped = "the device nodes of the GPUs" if vendor == "amd" else "the GPUs and the driver's libraries"
    return Step(
        _RUN,
        "Start a container with the GPU",
        "todo",
        f"This gives the container {mapped}; {_SHOWS[vendor]} inside it then lists them.",
        _numbers(situation, vendor)[1],
        tuple(Action(words=words) for words, _ in lines),
        risk="manual",
        verify=Verify(command="rocdoctor setup --goal container", shows="inside the container: all steps done"),
        notes=_start_notes(situation, vendor),
        sources=tuple(dict.fromkeys(s for _, own in lines for s in own)),
        table="install_cluster",
        needs=(_ENGINE, _TOOLKIT, "driver", "access"),
        optional=True,
    )


def _line(situation: Situation, vendor: str, engine: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The words of the start, and their sources; options whose number is not known are left out."""
    values, _ = _numbers(situation, vendor)
    found = install.container_runtime(vendor, engine, {**values, "image": _IMAGE[vendor]})
    if found is None:
        return None
    words = [one for one in found.args if "{" not in one]
    if vendor == "amd" and engine == "podman":
        # podman's line has no word on shared memory, and its default is 64 MB like docker's
        words.insert(words.index(_IMAGE[vendor]), "--ipc=host")
    if _SHOWS[vendor] not in words:
        words.append(_SHOWS[vendor])
    return tuple(words), found.sources


def _numbers(situation: Situation, vendor: str) -> tuple[dict[str, str], tuple[Evidence, ...]]:
    """The number of the group that owns the nodes on this machine: its name means nothing inside an image."""
    nodes = [node_at(situation.machine, KFD), *render_nodes(situation.machine, "amd")] if vendor == "amd" else []
    for node in nodes:
        if node is not None and isinstance(node.gid, Known):
            group = value_or(node.group, "its group")
            return {"gid_render": str(node.gid.value)}, (cite(node.gid, f"{node.path}: group {group}"),)
    return {}, ()


def _start_notes(situation: Situation, vendor: str) -> tuple[str, ...]:
    engines = _engines(situation) or ["docker", "podman"]
    texts = [install.container_runtime(vendor, engine) for engine in engines]
    found = [one.text for one in texts if one is not None]
    found += [
        "--ipc=host gives the container the machine's /dev/shm; --shm-size=8g gives it a separate one. Without "
        "either it has 64 MB, which is too little for data loaders and collectives."
    ]
    if vendor == "amd":
        found += [
            "The nodes are /dev/kfd and /dev/dri/renderD*; to pass one GPU, name only its render node.",
        ]
        if "docker" in engines:
            found += [
                "docker needs the number of the group that owns them (stat -c %g /dev/kfd): it looks up names in "
                "the image, where the group is missing or has a different number.",
                "Rootless docker does not map the host's groups: use docker's root daemon, or podman.",
            ]
        if situation.manager == "dnf":
            found.append(SELINUX_NOTE)
    if any(nic.kind in ("infiniband", "roce") for nic in situation.machine.network):
        extra = install.node_needs(situation.distribution).container_args if situation.distribution is not None else ()
        if extra:
            found.append(f"For RDMA between nodes also: {' '.join(extra)}.")
    return tuple(found)


def _inside(situation: Situation) -> Step:
    """What arrived in the container that we are in; missing nodes are the matter of the step on access."""
    machine = situation.machine
    nodes = [node_at(machine, KFD), *render_nodes(machine, "amd"), node_at(machine, "/dev/nvidiactl")]
    opened = [node for node in nodes if node is not None and opens(node)]
    kind = f"{rootless_words(machine, situation.enclosed)}{situation.enclosed} container"
    evidence = [cite(machine.container.kind)] if isinstance(machine.container.kind, Known) else []
    if machine.gpus_complete and not any(one.vendor for one in situation.targets):
        why = f"No GPU is in this machine, so this {kind} needs no devices."
        return Step(_RUN, "Start the container", "done", why, tuple(evidence))
    if not opened:
        why = f"No GPU device node could be opened in this {kind}."
        return Step(_RUN, "Start the container with the GPU", "waiting", why, tuple(evidence), needs=("access",))
    evidence += [cite(node.access, f"{node.path}: {value_or(node.access, '')}") for node in opened[:4]]
    names = [node.path for node in opened if node.path.startswith(("/dev/kfd", "/dev/nv"))]
    renders = len(opened) - len(names)
    shown = [*names, *([f"{renders} render node{'s' if renders > 1 else ''}"] if renders else [])]
    why = f"This {kind} was given {' and '.join(shown)}, and this user can open them."
    return Step(_RUN, "Start the container with the GPU", "done", why, tuple(evidence))
