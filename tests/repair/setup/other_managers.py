"""Machines without apt, on which scripts run with stand-ins that note how they are called."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from rocdoctor.repair.setup.evidence_script import for_reader
from rocdoctor.repair.setup.plan import SetupPlan
from rocdoctor.repair.setup.planner import plan
from rocdoctor.repair.setup.script import render
from tests.repair.setup.test_script import World
from tests.repair.setup.world.box import evidence
from tests.repair.setup.world.catalogue import CASES, FRESH, SLES_15, Case
from tests.repair.setup.world.judge import judged
from tests.repair.setup.world.routes import ROUTES

# Whatever a manager is told to install is there afterwards; each word stands as it was given, one call a line.
_NOTE = """#!/bin/sh
{ printf '%s' "$(basename "$0")"; for one; do printf '\\t%s' "$one"; done; echo; } >> "$CALLS"
"""
_INSTALLS = (
    _NOTE
    + """seen=no
for one; do
    [ "$seen" = no ] || echo "$one" >> "$WORLD/packages"
    case "$one" in install | -S*) seen=yes ;; esac
done
"""
)
# pacman is asked by itself whether it has a package, the others by rpm.
_PACMAN = _INSTALLS.replace("#!/bin/sh\n", '#!/bin/sh\n[ "$1" != -Q ] || { shift 2; exec rpm "$@"; }\n')
_HAS = """#!/bin/sh
for one; do case "$one" in -*) ;; *) grep -qx -- "$one" "$WORLD/packages" 2>/dev/null || exit 1 ;; esac; done
"""
_PYTHON = """#!/bin/sh
case "$*" in
    *venv*) for one; do :; done; mkdir -p "$one/bin"; cp -- "$0" "$one/bin/python" ;;
    --version) echo "Python $MADE_FOR.9" ;;
    "-m pip --version") [ -e "$(dirname "$0")/made" ] ;;
esac
"""
_FAKES = {
    **dict.fromkeys(("dnf", "zypper"), _INSTALLS),
    "pacman": _PACMAN,
    **dict.fromkeys(("subscription-manager", "SUSEConnect", "crb", "grubby", "modprobe", "systemctl"), _NOTE),
    "rpm": _HAS,
    "uname": "#!/bin/sh\necho ${UNAME:-5.14.0-0.el9.x86_64}\n",
    "systemctl": _NOTE + "echo active\n",
    "tee": '#!/bin/sh\nfor one; do :; done\nmkdir -p "$(dirname "$one")"; exec /usr/bin/tee "$@"\n',
    "curl": '#!/bin/sh\nmkdir -p "$(dirname "$3")"; echo x > "$3"\n',
    **{f"python3{minor}": _PYTHON for minor in ("", ".11", ".12", ".13")},
    "python": _PYTHON,
}


@dataclass(frozen=True, slots=True)
class Written:
    """A plan with its script, for a world of stand-ins."""

    plan: SetupPlan
    script: str
    python: str


def machines() -> dict[str, Case]:
    """RHEL 9 and 10, SLES 15 and 16, Fedora and Arch, for AMD and NVIDIA."""
    every = {case.name: case for case in (*CASES, *FRESH, *ROUTES)}
    names = (
        "mi300x-8-rhel9-cluster-node",
        "mi300x-8-rhel10.0-nothing",
        "rtx4090-rhel9.6-nothing",
        "mi210-8-sles15",
        "h100-8-rhel9-nothing",
        "strix-halo-fedora42",
        "xtx-arch-fresh",
        "xtx-centos9-nothing",
    )
    found = {name: every[name] for name in names}
    server = found["mi210-8-sles15"]
    assert server.box is not None and server.state is not None
    sixteen = replace(
        SLES_15, version="16.0", pretty="SUSE Linux Enterprise Server 16.0", kernel="6.12.0-160000.5-default"
    )
    box = replace(server.box, name="mi210-8-sles16", os=sixteen, python="3.13.7")
    found["mi210-8-sles16"] = replace(
        server, name="mi210-8-sles16", box=box, state=replace(server.state, kernel=sixteen.kernel)
    )
    halo, arch = found["strix-halo-fedora42"], every["xtx-arch-fresh"]
    assert halo.box is not None and halo.state is not None and arch.box is not None
    box = replace(halo.box, name="strix-halo-arch", os=arch.box.os)
    found["strix-halo-arch"] = replace(
        halo, name="strix-halo-arch", box=box, state=replace(halo.state, kernel=arch.box.os.kernel)
    )
    found["xtx-rhel10-rocm"] = replace(every["xtx-rhel10-fresh"], goal="rocm")
    found["xtx-arch-rocm"] = replace(every["xtx-arch-fresh"], goal="rocm")
    return found


def of_apt() -> dict[str, Case]:
    """Debian with a repository's package from its file, and with the kernel of its backports."""
    every = {case.name: case for case in CASES}
    halo, debian = every["strix-halo-ubuntu2404"], every["xtx-debian13-fresh"]
    assert halo.box is not None and halo.state is not None and debian.box is not None
    os = debian.box.os
    box = replace(halo.box, name="strix-halo-debian13", os=os, python="3.13.7")
    made = replace(halo, name="strix-halo-debian13", box=box, state=replace(halo.state, kernel=os.kernel))
    return {made.name: made, "rtx4090-debian12-nouveau": every["rtx4090-debian12-nouveau"]}


def written(case: Case) -> Written:
    """The script of a machine, all of whose steps are its own user's."""
    assert case.box is not None and case.state is not None
    made = plan(judged(evidence(case.box, case.state)), case.goal)
    made, _ = for_reader(made, None)
    series = next((one.verify.shows for one in made.steps if one.id == "python-environment" and one.verify), "")
    return Written(made, render(made, "a test", root=False), series.removeprefix("Python "))


def played(folder: Path, one: Written) -> tuple[list[int], list[tuple[str, ...]]]:
    """The exit statuses of run after run, with the restarts and logins that it asks for, and the calls of managers."""
    world = World(folder)
    for name, text in _FAKES.items():
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    script = one.script.replace(" /etc/", f" {folder}/etc/")  # files of the system lie below the folder
    kernel = "5.14.0-0.el9.x86_64"
    newer = any(step.id == "kernel" and step.state == "todo" for step in one.plan.steps)
    statuses: list[int] = []
    calls: list[tuple[str, ...]] = []
    for _ in range(5):
        done = world.run(script, "--with-optional", "--with-risky", MADE_FOR=one.python, UNAME=kernel)
        statuses.append(done.returncode)
        calls += [tuple(line.split("\t")) for line in world.calls()]
        if done.returncode == 10:
            (folder / "run" / "rocdoctor-restart").unlink()
            kernel = "7.1.2-0" if newer else kernel
        elif done.returncode == 11:
            (folder / "session").write_text("alice render video\n")
        else:
            break
    return statuses, calls
