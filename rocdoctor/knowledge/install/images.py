"""Base images of containers, by the tags that their makers' own pages name (``install_images.yaml``)."""

from __future__ import annotations

from dataclasses import dataclass

from rocdoctor.knowledge.load import load_table, numbers, words
from rocdoctor.model.lazy_re import regex

_USUAL = "ubuntu 24.04"
_VERSION = regex(r"\d{1,3}(?:\.\d{1,3}){0,2}\Z")


@dataclass(frozen=True, slots=True)
class BaseImage:
    """An image with its tag, what it has of a plan already, and the sources of its row in ``install_images``."""

    name: str
    sources: tuple[str, ...]


def distribution_image(os_id: str, version: str) -> BaseImage | None:
    """The image of a distribution itself; None where its tags were not read."""
    if not _VERSION.match(version):
        return None
    for row in load_table("install_images")["distributions"]:
        if row["id"] == os_id:
            name = row["image"].format(version=version, major=version.partition(".")[0])
            return BaseImage(name, words(row["s"]))
    return None


def vendor_images(torch: str, os_key: str, rocm: str = "") -> tuple[BaseImage, ...]:
    """AMD's images with this torch, and of the same series of ROCm where one is given.

    That of this distribution stands first, else that of the release that all of AMD's lists have.
    """
    table = load_table("install_images")
    rows = [row for row in table["vendor"] if row["torch"] == torch]
    if rocm:
        rows = [row for row in rows if numbers(row["rocm"])[:2] == numbers(rocm)[:2]]
    rows.sort(key=lambda row: (row["os"] != os_key, row["os"] != _USUAL))
    return tuple(
        BaseImage(table["vendor_image"].format(**{**row, "version": row["os"].partition(" ")[2]}), words(row["s"]))
        for row in rows
    )
