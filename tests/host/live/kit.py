"""What several tests of this room make."""

from __future__ import annotations

from pathlib import Path


def program_file(path: Path, text: str, reader: str = "/bin/sh") -> None:
    """A script that everybody may run."""
    path.write_text(f"#!{reader}\n{text}")
    path.chmod(0o755)
