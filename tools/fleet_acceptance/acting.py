"""Figures 6 and 7: bounds of what is drained, and a real Slurm with 16 slurmd and 9,984 nodes of a cloud."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rocdoctor.fleet.record import as_data
from tests.fleet.kit import node, sick, without
from tests.train.smoke.nodes import slurm as kit
from tests.train.smoke.nodes.network import missing, network
from tools.fleet_acceptance.rows import PROGRAM, ROOT, Row, Setting, holds, most, none, skipped, tests

_PROPERTY = "tests/fleet/test_acting.py::test_no_order_of_events_passes_a_bound"
_SMALL = "tests/fleet/test_real_slurm.py"
_REAL, _CLOUD = 16, 9984


def bounds(setting: Setting) -> Iterator[Row]:
    """By random orders of events, and with a real Slurm of two nodes."""
    profile = "heavy" if setting.heavy else "ci"
    yield tests(f"the cap in random orders of events ({profile})", _PROPERTY, HYPOTHESIS_PROFILE=profile)
    what = "a real Slurm of two: reasons of others, jobs that run, releases"
    yield tests(what, _SMALL) if setting.heavy else skipped(what, "--light")


class _Cluster(kit.Cluster):
    """Slurm with nodes of a cloud that nobody starts, beside the real ones."""

    def idle(self) -> bool:
        said = self.ran("sinfo", "-h", "-o", "%T %D").stdout.split()
        return said.count("idle") == 1 and said[said.index("idle") + 1] == str(len(self.network.spaces))

    _idle = idle

    def ran(self, *words: str) -> subprocess.CompletedProcess[str]:
        argv = self.inside(0, *words)
        return subprocess.run(
            argv, capture_output=True, text=True, env=self.environment(), check=False, timeout=600, cwd=ROOT
        )

    def reasons(self) -> dict[str, str]:
        """Of each node that is out: why."""
        rows = [one.split("|") for one in self.ran("sinfo", "-h", "-N", "-o", "%N|%T|%E").stdout.splitlines()]
        return {name: reason for name, state, reason in rows if state.startswith("drain")}


@contextlib.contextmanager
def _cluster() -> Iterator[_Cluster]:
    more = "PrivateData=cloud\nSuspendProgram=/bin/true\nResumeProgram=/bin/true\nSuspendTime=-1\n"
    more += f"NodeName=c[0000-{_CLOUD - 1:04d}] CPUs=2 RealMemory=500 Gres=gpu:8 State=CLOUD\n"
    with network(_REAL) as made:
        found = _Cluster(made, 8)
        text = kit._CONF
        kit._CONF = text.replace("PartitionName", f"{more}PartitionName")
        try:
            found.start()
            yield found
        finally:
            kit._CONF = text
            found.close()


class _Site:
    """Nodes that record themselves, a store, and apply, all by the commands."""

    def __init__(self, slurm: _Cluster, place: Path, names: list[str]) -> None:
        self.slurm, self.place, self.names = slurm, place, names
        self.base = node("n")

    def tick(self, bad: dict[str, str], boot: str = "b") -> subprocess.CompletedProcess[str]:
        """A round of this minute; ``bad``: what the named nodes show."""
        at = int(time.time())
        sound = json.dumps(
            as_data(replace(self.base, node="NODE", taken_at=at, boot=f"{boot}-NODE")), separators=(",", ":")
        )
        with (self.place / "round").open("w") as stream:
            for name in self.names:
                text = sound.replace("NODE", name)
                if name in bad:
                    one = replace(self.base, node=name, taken_at=at, boot=f"{boot}-{name}")
                    fault = sick(bad[name], 2, "gpu-hardware-fault")
                    one = replace(one, **(without(5) if bad[name] == "gpu" else {"findings": (*one.findings, fault)}))
                    text = json.dumps(as_data(one), separators=(",", ":"))
                stream.write(f"{name}: {text}\n")
        return self.slurm.ran(*PROGRAM, "fleet", "tick", str(self.place / "store"), str(self.place / "round"))

    def apply(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.slurm.ran(*PROGRAM, "fleet", "apply", str(self.place / "store"), *words)


def slurm(setting: Setting) -> Iterator[Row]:
    """A fault, two ticks, apply; a repair, apply; a job that runs; 500 drains; two apply at once."""
    what = f"{_REAL} slurmd and {_CLOUD} cloud nodes"
    absent = "--light" if not setting.heavy else kit.slurm_missing() or missing()
    if absent:
        yield skipped(what, absent)
        return
    with _cluster() as made:
        names = [f"n{number}" for number in range(_REAL)] + [f"c{number:04d}" for number in range(_CLOUD)]
        yield from _story(_Site(made, setting.place("slurm"), names))


def _story(site: _Site) -> Iterator[Row]:
    slurm = site.slurm
    job = subprocess.Popen(
        slurm.inside(
            0, "srun", "-w", "n5", "-N", "1", "sh", "-c", f"while [ ! -e {site.place}/end ]; do sleep 1; done"
        ),
        env=slurm.environment(),
        stderr=subprocess.DEVNULL,
    )
    try:
        slurm.ran("scontrol", "update", "NodeName=n9", "State=DRAIN", "Reason=Ann: fan")
        bad = {"n5": "ras-uncorrectable", "c0042": "gpu", "n9": "ras-uncorrectable"}
        site.tick({})
        site.tick(bad)
        time.sleep(1.1)  # a record counts by its second
        second = site.tick(bad)
        yield holds(
            "tick names three nodes after two rounds",
            second.returncode == 1 and ": 3 to drain" in second.stdout,
            second.stdout.split("\n")[0],
        )
        done = site.apply("--yes")
        found = slurm.reasons()
        ours = {name: reason for name, reason in found.items() if reason.startswith("rocdoctor: ")}
        right = "ras-uncorrectable" in ours.get("n5", "") and "fleet-gpu-missing" in ours.get("c0042", "")
        yield holds(
            "both bad nodes are drained with the right reason",
            right and len(ours) == 2,
            done.stderr[-200:].strip() if not right else ours["n5"],
        )
        yield holds("a drain of somebody else is left word for word", found.get("n9") == "Ann: fan")
        yield holds("the job on the drained node still runs", job.poll() is None)
        site.apply("--yes")
        yield holds("while the fault is there it stays out", set(slurm.reasons()) == set(found))
        (site.place / "end").touch()
        yield holds("the job ended well", job.wait(120) == 0)
        time.sleep(1.1)
        site.tick({})
        site.apply("--yes")
        yield holds("after one clean record of the same boot it is not back", "n5" in slurm.reasons())
        time.sleep(1.1)
        site.tick({}, "b2")
        site.apply("--yes")
        yield holds(
            "after a clean record of a new boot it is back", "n5" not in slurm.reasons() and "n9" in slurm.reasons()
        )
        many = {
            f"c{number:04d}": ("ras-uncorrectable", "kfd-missing", "gpu")[number % 3] for number in range(1000, 1500)
        }
        for _ in range(2):
            time.sleep(1.1)
            site.tick(many)
        plan = site.apply("--share", "5", "--rate", "100")
        calls = [one for one in plan.stdout.splitlines() if one.startswith("scontrol")]
        yield holds("three calls drain 500 nodes for three reasons", len(calls) == 3, f"{len(calls)} calls")
        both = [
            subprocess.Popen(
                slurm.inside(
                    0, *PROGRAM, "fleet", "apply", str(site.place / "store"), "--yes", "--rate", "100", "--most", "300"
                ),
                env=slurm.environment(),
                cwd=ROOT,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for _ in range(2)
        ]
        codes = sorted(one.wait(600) for one in both)
        out = [name for name, reason in slurm.reasons().items() if reason.startswith("rocdoctor: ")]
        yield most(f"two apply at once with --most 300 (ended with {codes}), drained", len(out), 300)
        yield holds("  and that many", len(out) == 300, str(len(out)))
        site.apply("--undo", "--yes")
        left = [name for name in slurm.reasons() if name in many]  # c0042 was of an earlier apply
        yield none("drains of the last apply left after --undo", left)
    finally:
        job.kill()
        job.wait()
