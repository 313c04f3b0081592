"""mpirun starts ranks on other nodes without the variables of this shell.

Why
  Open MPI starts processes on other nodes through ssh, whose shell reads no login files: LD_LIBRARY_PATH, PATH and the
  NCCL_ variables that were exported where mpirun was typed are not there. Only those named with -x (MPICH: -genv)
  are passed on. A typical sign: a library is found on one node, but missing on two.

Fix
  Name the variables: mpirun -x LD_LIBRARY_PATH -x PATH -x NCCL_DEBUG ..., or set them in ~/.bashrc above the line that
  stops non-interactive shells.

References
  https://docs.open-mpi.org/en/main/launching-apps/quickstart.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.commands import shown_command, when_commands
from rocdoctor.insight.texts.pasted import first_value, said, shown
from rocdoctor.judging.check import Fix, Outcome, check, error
from rocdoctor.model.facts import CommandLine, Machine

_MISSING = "missing-library"
_HOSTS = ("H", "host", "hostfile", "machinefile", "hosts", "f")


@check(when_commands("mpirun"), cause="missing-shared-library")
def command_mpirun_without_variables(machine: Machine) -> Outcome:
    missing = said(machine, _MISSING)
    if not missing:
        return None
    for one in machine.commands:
        if one.program != "mpirun" or one.inside == "srun" or not _on_others(one):
            continue
        if "LD_LIBRARY_PATH" in one.environment or {"prefix", "genvall", "envall"} & set(one.options):
            continue
        library = first_value(missing, "library", "name", "soname") or "a library"
        return error(
            "mpirun starts ranks on other nodes without -x LD_LIBRARY_PATH, so the loader there does not find "
            f"{library}: variables of this shell are not passed on automatically.",
            evidence=(*shown_command(one), *shown(missing)[:1]),
            fix=Fix(
                "Add -x LD_LIBRARY_PATH (and -x for each NCCL_ variable; MPICH: -genv) to mpirun, and make sure that "
                "the library is at the same path on every node",
                command="ldd PROGRAM; echo $LD_LIBRARY_PATH",
                safety="safe",
            ),
            confidence="likely",
            explains=("missing-shared-library-message",),
        )
    return None


def _on_others(one: CommandLine) -> bool:
    hosts = one.value(*_HOSTS)
    return hosts is not None and hosts.split(":")[0] not in ("localhost", "127.0.0.1")
