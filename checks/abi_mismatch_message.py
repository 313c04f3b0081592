"""A binary needs a newer C or C++ library than this system has.

Why
  Binaries name the versions of glibc (GLIBC_2.28) and libstdc++ (GLIBCXX_3.4.30, CXXABI_1.3.13) that they were linked
  with. An older distribution, or an old libstdc++ of conda that comes first on the loader path, does not have them.

Fix
  Use a newer distribution, or a container with one, or build from source on this system. For libstdc++ inside conda,
  install a newer libstdcxx-ng or put the system's library first. Never replace the system libc by hand.

References
  https://github.com/pypa/manylinux
  https://gcc.gnu.org/onlinedocs/libstdc++/manual/abi.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import all_values, first_value, said, shown, when_said
from rocdoctor.judging.check import Fix, Outcome, check, error
from rocdoctor.knowledge.load import numbers
from rocdoctor.knowledge.lookup import first_with, has_symbol, libc_release, newest_symbol
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import shell


def _fitting(machine: Machine, versions: list[str]) -> tuple[str, str]:
    """What the named distribution has, and which releases have what is wanted: parts of sentences, "" if unknown."""
    newest = max(versions, key=_in_order)
    on = first_with(newest)
    have_it = f" ({', '.join(on)} and later have {newest})" if on else ""
    pretty = value_or(machine.os.pretty_name, "")
    release = libc_release(value_or(machine.os.id, ""), value_or(machine.os.version_id, ""), pretty)
    if release is None or (has := has_symbol(release, newest)) is None:
        return "", have_it
    named = f"{release.name} {release.version}"
    if has:
        return (
            f" {named} itself has {newest_symbol(release, newest)}, so an older library is loaded here: that of a "
            "container image, of conda, or of a folder on LD_LIBRARY_PATH.",
            have_it,
        )
    return f" {named} has {newest_symbol(release, newest)} at most.", have_it


def _in_order(symbol: str) -> tuple[str, tuple[int, ...]]:
    prefix, _, version = symbol.partition("_")
    return prefix, numbers(version)


@check(when_said("glibc-too-old", "linker-wants-newer-libc", "cxx-abi-differs"), cause="libc-or-abi-mismatch")
def abi_mismatch_message(machine: Machine) -> Outcome:
    messages = said(machine, "glibc-too-old") or said(machine, "linker-wants-newer-libc")
    system = value_or(machine.os.pretty_name, None)
    here = f" ({system})" if system else ""
    if not messages:
        other = said(machine, "cxx-abi-differs")
        return error(
            f"{first_value(other, 'library')} needs a C++ symbol of the other string ABI (cxx11): it was compiled with "
            "a different _GLIBCXX_USE_CXX11_ABI setting than the library that it uses.",
            evidence=shown(other),
            fix=Fix(
                "Rebuild the extension against the installed torch, or use the wheel whose name has the same "
                "cxx11abi setting (TRUE or FALSE) as torch",
                command='python3 -c "import torch; print(torch.compiled_with_cxx11_abi())"',
            ),
            confidence="likely",
            explains=("missing-shared-library",),
        )
    versions = all_values(messages, "version")
    wanted = ", ".join(versions[:3])
    by = (first_value(messages, "by") or "").rsplit("/", 1)[-1]
    for_whom = f", which {by} needs" if by else ""
    of_c = [one for one in versions if one.startswith("GLIBC_")]
    here_at_most, have_it = _fitting(machine, list(of_c or versions))
    if of_c:
        return error(
            f"The C library (glibc) of this system{here} is older than {wanted}{for_whom}: the binary was built "
            f"for a newer distribution.{here_at_most}",
            evidence=shown(messages),
            fix=Fix(
                f"Use a newer distribution release{have_it}, or a container image with one; otherwise use an older "
                "release of the "
                "package or build it from source on this system. Do not replace libc by hand",
                command="ldd --version | head -1",
                verify="ldd --version | head -1",
            ),
            explains=("missing-shared-library",),
        )
    path = first_value(messages, "library") or "libstdc++.so.6"
    conda = any("conda" in one.text or "envs/" in one.text for one in messages)
    return error(
        f"The C++ library ({path}) that is loaded{here} is older than {wanted}{for_whom}.{here_at_most}",
        evidence=shown(messages),
        fix=Fix(
            (
                "An old libstdc++ of conda comes first: install a newer libstdcxx-ng in the environment (conda install "
                "-c conda-forge libstdcxx-ng), or unset LD_LIBRARY_PATH"
                if conda
                else "Install a newer libstdc++ (newer distribution or gcc toolset), use a container, or build "
                f"from source; inside conda: conda install -c conda-forge libstdcxx-ng{have_it}"
            ),
            command=shell("strings {path:path} | grep {symbols:name}_", path=path, symbols=versions[0].split("_")[0]),
        ),
        explains=("missing-shared-library",),
    )
