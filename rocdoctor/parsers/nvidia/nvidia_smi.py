"""``nvidia-smi -q -x`` and ``nvidia-smi -q``, and the choice between all outputs that tell of GPUs."""

from __future__ import annotations

import re
from dataclasses import replace

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import lines_of, to_int, value_of
from rocdoctor.parsers.formats.xml import Element, parse_xml
from rocdoctor.parsers.nvidia.nvidia_gpu import read_gpu
from rocdoctor.parsers.nvidia.nvidia_records import NvidiaSmi, parse_failures
from rocdoctor.parsers.nvidia.nvidia_table import is_list, is_table, parse_list, parse_table

# More than any machine holds (DGX-2: 16; with MIG and vGPU a few times that).
_MAX_GPUS = 512
_MAX_INDENT = 64
_GPU_LINE = regex(r"GPU ((?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{1,2}:[0-9A-Fa-f]{1,2}[.:][0-7])\Z")
_VERSION = regex(r"\d{1,5}(?:\.\d{1,5}){1,4}\Z")


def parse_nvidia_smi(text: str) -> NvidiaSmi:
    """Whatever GPU output of ``nvidia-smi`` the text holds: XML, the -q listing, the -L list or the default table.

    Failure messages are read from all of them. An empty result means that nothing was recognised.
    """
    if "<nvidia_smi_log" in text or "<gpu id=" in text:
        return parse_query_xml(text)
    query = parse_query_text(text)
    if query.gpus or query.attached_gpus is not None:
        return query
    if is_table(text):
        return parse_table(text)
    if is_list(text):
        return parse_list(text)
    return query


def parse_query_xml(text: str) -> NvidiaSmi:
    """``nvidia-smi -q -x`` of any driver generation; damaged XML gives what stood before the damage."""
    document = parse_xml(text)
    failures = parse_failures(text)
    root = document.root
    if root is None:
        return NvidiaSmi(failures=failures, truncated=document.truncated)
    gpus = [root] if root.tag == "gpu" else [one for one in root.children if one.tag == "gpu"]
    return replace(_result(root, gpus), failures=failures, truncated=document.truncated)


def parse_query_text(text: str) -> NvidiaSmi:
    """``nvidia-smi -q`` (whole, or sections of it by ``-d``); the indentation is the structure.

    ``truncated`` is True where a GPU of a whole listing lacks its last section, the processes.
    """
    root = _indented_tree(text)
    gpus = [one for one in root.children if one.tag == "gpu"]
    cut = any(one.child("product_name") and not one.child("processes", "compute_processes") for one in gpus)
    return replace(_result(root, gpus), failures=parse_failures(text), truncated=cut)


def _result(root: Element, elements: list[Element]) -> NvidiaSmi:
    lines: dict[str, int] = {}

    def top(name: str) -> str | None:
        element = root.child(name)
        value = None if element is None else value_of(element.text)
        if element is not None and value is not None:
            lines[name] = element.line
        return value

    attached = to_int(top("attached_gpus"))
    driver, cuda = top("driver_version"), top("cuda_version")
    # With some GPUs left out (asked for one, or cut), the place in the output is no longer the tool's number.
    whole = attached == len(elements)
    gpus = tuple(read_gpu(one, at if whole else None) for at, one in enumerate(elements[:_MAX_GPUS]))
    return NvidiaSmi(
        driver_version=driver if driver and _VERSION.match(driver) else None,
        cuda_version=cuda if cuda and _VERSION.match(cuda) else None,
        attached_gpus=attached if attached is not None and attached >= 0 else None,
        gpus=gpus,
        lines=lines,
    )


def _indented_tree(text: str) -> Element:
    root = Element("nvidia_smi_log", {}, 1)
    open_elements: list[tuple[int, Element]] = [(-1, root)]
    for at, raw in enumerate(lines_of(text), 1):
        line = raw[:1000].expandtabs(8).rstrip()
        body = line.lstrip()
        if not body or body[0] in "=|+":
            continue
        indent = min(len(line) - len(body), _MAX_INDENT)
        if match := _GPU_LINE.match(body):
            element = Element("gpu", {"id": match.group(1)}, at)
            root.children.append(element)
            open_elements = [(-1, root), (indent, element)]
            continue
        key, colon, value = body.partition(" :")
        if not colon and body.endswith(":"):
            key = body[:-1]
        while open_elements[-1][0] >= indent and len(open_elements) > 1:
            open_elements.pop()
        element = Element(_tag(key), {}, at, pieces=[value.strip()] if colon else [])
        open_elements[-1][1].children.append(element)
        open_elements.append((indent, element))
    return root


def _tag(key: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", key.strip().lower()).strip("_")
