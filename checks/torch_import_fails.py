"""torch is installed, but it cannot be imported.

Why
  `import torch` loads many shared libraries. It fails when one is missing, when one comes from another release (an
  "undefined symbol": often LD_LIBRARY_PATH puts a system library in front of the wheel's own), or when the wheel needs
  a newer C or C++ library than the system has (GLIBC_2.28, GLIBCXX_3.4.30 "not found").

Fix
  Try without LD_LIBRARY_PATH first. Then reinstall torch in a fresh environment; on an old distribution, use a
  container. Never replace a system's C library by hand.

References
  https://man7.org/linux/man-pages/man8/ld.so.8.html
  https://github.com/pypa/manylinux
"""

from __future__ import annotations

from rocdoctor.insight.software.torch_stack import installed, needs_torch, of_interpreter, reinstall
from rocdoctor.judging.check import Fix, Outcome, check, cite, error, quote, whole_machine
from rocdoctor.model.evidence import known
from rocdoctor.model.facts import Machine
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.shell_command import shell

_MISSING = regex(r"\b(lib[\w+-]{1,80}\.so(?:\.\d{1,9}){0,4}): cannot open shared object")
_SYMBOL_VERSION = regex(r"\b((?:GLIBC|GLIBCXX|CXXABI|GCC)_\d{1,3}(?:\.\d{1,3}){0,3})['’`]? not found")
_SYMBOL = regex(r"undefined symbol: (\w{1,200})")
_LIBRARY = regex(r"\b(lib[\w+-]{1,80}\.so(?:\.\d{1,9}){0,4}): undefined symbol")
_MODULE = regex(r"No module named '([\w.]{1,100})'")
_DRIVER = ("libcuda.so", "libnvidia-")
_FRESH = 'python3 -c "import torch; print(torch.__version__)"'


@check(needs_torch(whole_machine), cause="python-package-mismatch")
@of_interpreter
def torch_import_fails(machine: Machine) -> Outcome:
    torch = machine.torch
    version = installed(torch)
    problem = known(torch.import_error)
    if problem is None:
        return None
    evidence = [cite(torch.import_error, problem[:500]), cite(torch.version)]
    loader = machine.environment.variables.get("LD_LIBRARY_PATH")
    if loader is not None and loader.value:
        evidence.append(quote(loader.source, f"LD_LIBRARY_PATH={loader.value}"[:300], loader.line))
    explains = ("torch-gpu-count-mismatch",)
    if found := _SYMBOL_VERSION.search(problem):
        return error(
            f"torch {version} cannot be imported: it needs {found.group(1)}, a newer glibc or C++ library than this "
            "system has.",
            evidence=evidence,
            cause="libc-or-abi-mismatch",
            explains=explains,
            fix=Fix(
                "Use a newer distribution or a container; in conda update libstdcxx-ng. Never replace libc by hand",
                safety="manual",
                verify=_FRESH,
            ),
        )
    if found := _MISSING.search(problem):
        library = found.group(1)
        where = "Install the package that holds it, or make the loader find it"
        if library.startswith(_DRIVER):
            where = "It belongs to the NVIDIA driver: install that, or give the container the host's"
        return error(
            f"torch {version} cannot be imported: the shared library {library} is missing.",
            evidence=evidence,
            cause="missing-shared-library",
            explains=explains,
            fix=Fix(
                f"{where} (ldconfig, LD_LIBRARY_PATH); a wheel that includes its own libraries needs reinstalling",
                command=shell("ldconfig -p | grep {library:library}", library=library.split(".so")[0]),
                safety="safe",
                verify=_FRESH,
            ),
        )
    if found := _SYMBOL.search(problem):
        library_found = _LIBRARY.search(problem)
        where = f" in {library_found.group(1)}" if library_found else ""
        fix = reinstall(None)
        if loader is not None and loader.value:
            fix = Fix(
                "Unset LD_LIBRARY_PATH: libraries of another release are found before the wheel's own",
                command="unset LD_LIBRARY_PATH",
                unsets=("LD_LIBRARY_PATH",),
                safety="safe",
                verify=_FRESH,
            )
        return error(
            f"torch {version} cannot be imported: the symbol {found.group(1)[:80]} is undefined{where}, so libraries "
            "of different releases are mixed.",
            evidence=evidence,
            explains=explains,
            fix=fix,
        )
    if found := _MODULE.search(problem):
        return error(
            f"torch {version} cannot be imported: the Python module {found.group(1)} is missing.",
            evidence=evidence,
            explains=explains,
            fix=reinstall(None),
        )
    if "Illegal instruction" in problem or "SIGILL" in problem:
        return error(
            f"torch {version} ends with an illegal instruction: it was built for a newer processor.",
            evidence=evidence,
            cause="libc-or-abi-mismatch",
            explains=explains,
            fix=Fix("Install a build for this processor, or build torch from source", safety="manual", verify=_FRESH),
        )
    return error(
        f"torch {version} could not be loaded in the interpreter under test.",
        evidence=evidence,
        explains=explains,
        confidence="likely",
        fix=reinstall(None),
    )
