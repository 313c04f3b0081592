"""How a container was started, as statements: its kind, its options, the size of its /dev/shm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocdoctor.parsers.formats.text import to_bytes
from rocdoctor.paste.command_lines import Given
from rocdoctor.paste.statements import Said

_KINDS = {name: name for name in ("docker", "podman", "nerdctl", "apptainer", "enroot", "lxc", "kubernetes")} | {
    "compose": "docker"
}
_FLAGS = frozenset(("privileged", "rocm", "nv"))


def launches(given: Sequence[Given]) -> Iterator[Said]:
    """The kind of container, its options ("launch": "device=/dev/kfd") and the size of its /dev/shm."""
    for one in given:
        kind = _KINDS.get(one.fields["program"])
        if kind is None or one.fields["inside"]:
            continue
        yield Said("container", kind, one.line, one.role, sure=True)
        for name, values in one.fields["options"].items():
            for value in values:
                if value or name in _FLAGS:
                    yield Said("launch", f"{name}={_plain(name, value) or 'true'}", one.line, one.role, sure=True)
                size = to_bytes(value) if name == "shm-size" and value else None
                if size:
                    yield Said("shm_bytes", str(size), one.line, one.role, sure=True)
        for word in one.fields["words"][:1]:
            yield Said("launch", f"image={word}", one.line, one.role, sure=True)


def _plain(name: str, value: str) -> str:
    return value.split(":")[0] if name == "device" and value.startswith("/") else value
