"""Names of images of containers, ``[HOST[:PORT]/]NAMESPACE/REPOSITORY[:TAG]``: whose they are stands in the namespace.

The form is that of docs.docker.com/reference/cli/docker/image/tag, the options are those of .../docker/container/run
(read 2026-11-28). Where such a name may stand is a table (``images`` of masking.yaml).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# A first part is a registry where it has a dot or a port, or is localhost; masking may have replaced a part of it.
_REGISTRY = (
    r"(?:(?:[\w-]{1,60}\.){1,5}[a-z]{2,20}(?::\d{2,5})?[/#]|[\w-]{1,60}:\d{2,5}/|localhost/|"
    r"(?:ip-\d{1,6}\.\d{1,6}|\d{1,3}(?:\.\d{1,3}){3}|\[[\w:.-]{2,60}\]|[\w-]{1,60}\.[\w-]{1,60}-\d{1,5})(?::\d{2,5})?/)"
)
_END = r"""(?=$|[\s"'`,;)\]}])"""
_REST = rf"(?=/[\w.-]{{1,100}}(?:/[\w.-]{{1,100}}){{0,4}}(?:[:@][\w.:@+-]{{1,200}})?{_END})"

# Options between a command and the name: each text is read in one way only, so that nothing is tried twice.
_BETWEEN = r"(?:[ \t]|\\\r?\n){1,40}"
_VALUE = r"""(?:(?!\$\()[^\s"']|\$\([^)\n]{0,80}\)|"[^"\n]{0,300}"|'[^'\n]{0,300}'){1,300}"""
_SHORT_SWITCH = r"-(?:[itdPq]{1,4}(?=\s)|f(?=[ \t]{1,4}[a-z0-9]))"
_SWITCH = (
    r"--(?:rm|privileged|init|tty|interactive|detach|read-only|publish-all|quiet|force|all-tags|no-prune|"
    r"no-healthcheck|oom-kill-disable|disable-content-trust|use-api-socket)(?=\s)"
)
_OPTION = (
    rf"(?:{_SHORT_SWITCH}|{_SWITCH}|--[A-Za-z][\w-]{{0,40}}={_VALUE}|(?!{_SHORT_SWITCH})-[A-Za-z]{_VALUE}|"
    rf"(?!{_SHORT_SWITCH}|{_SWITCH})-{{1,2}}[A-Za-z][\w-]{{0,40}}{_BETWEEN}(?!-){_VALUE})"
)
_OPTIONS = rf"(?:{_BETWEEN}{_OPTION}){{0,80}}{_BETWEEN}"


def image_places(table: Mapping[str, Any]) -> list[tuple[tuple[str, ...], str]]:
    """Words of which one must occur, and the expression with the groups ``k`` and ``s``, for each place of the table.

    In ``before``, OPTIONS stands for options and their values, BETWEEN for space or the end of a line that goes on.
    """
    nobodys = f"(?:{_one_of(table['nobodys'])}|(?:my|your)(?:[_-]?(?:{_one_of(table['yours'])})){{0,4}})/"
    file = rf"(?![\w./-]{{1,200}}\.(?:{_one_of(table['files'])}){_END})"
    public = rf"(?!(?:{_one_of(table['registries'])})/)"
    name = rf"(?P<s>(?!{nobodys})[a-z0-9](?(r)[\w.-]{{1,60}}|[\w-]{{1,60}})){_REST}{file}"
    found = []
    for place in table["before"]:
        before = str(place["pattern"]).replace("OPTIONS", _OPTIONS).replace("BETWEEN", _BETWEEN)
        registry = f"(?P<r>{place.get('registry', _REGISTRY)}(?:{nobodys}){{0,3}}){'' if 'registry' in place else '?'}"
        found.append((tuple(map(str, place["words"])), f"(?P<k>{before}{public}{registry}){name}"))
    return found


def _one_of(words: Sequence[Any]) -> str:
    return "|".join(map(str, words))
