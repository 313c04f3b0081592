"""What commands are told, as values: they load nothing, since a cold start reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Format = Literal["text", "json", "markdown", "junit", "sarif", "ansible", "cloud-init", "dockerfile"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintOptions:
    """How results are printed."""

    format: Format = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceOptions(PrintOptions):
    """Which evidence is read, how it is asked for, and how results are printed.

    ``source`` is what ``--from`` names (None: this machine), ``add`` more pieces of evidence, ``python`` the
    interpreter whose torch is examined, ``pid`` a running job, ``timeout`` the deadline of one question in seconds.
    """

    source: str | None = None
    add: tuple[str, ...] = ()
    python: str | None = None
    trust_interpreter: bool = False
    pid: int | None = None
    timeout: float | None = None
    include_identity: bool = False
    no_color: bool = False
    quiet: bool = False
    verbose: bool = False
