"""Names that tell nothing of a person or a site, whatever their place says."""

from __future__ import annotations

import re
from collections.abc import Callable

KEPT_HOSTS = frozenset(
    (
        *("localhost", "localhost.localdomain", "localhost6", "none", "null", "unknown", "any", "all"),
        *("hostname", "n/a"),
        # what every cluster of Kubernetes searches
        *("cluster.local", "svc.cluster.local", "default.svc.cluster.local", "kube-system.svc.cluster.local"),
    )
)
KEPT_USERS = frozenset(
    (
        *("root", "linuxbrew", "nobody", "name", "user", "username", "you"),
        *("public", "default", "all users", "$user", "localhost"),
        # who owns something where nobody in particular does
        *("team", "group", "everyone", "unassigned", "shared", "support", "infra", "platform", "devops", "mlops"),
    )
)
# What jobs, partitions and queues are called everywhere.
USUAL = frozenset(
    (
        *("normal", "batch", "extern", "interactive", "bash", "sh", "long"),
        *("short", "standard", "wrap", "express", "all", "none"),
    )
)
BUILDERS = frozenset(("buildd", "mockbuild", "builduser", "debian-kernel", "geeko", "git"))
# Words of a sentence, which stand where a name may: "killed by user after", "kubectl describe node shows".
PROSE = frozenset(
    (
        *(
            "a",
            "an",
            "the",
            "this",
            "that",
            "these",
            "those",
            "it",
            "its",
            "they",
            "we",
            "you",
            "who",
            "whose",
            "which",
        ),
        *("what", "why", "how", "is", "are", "was", "were", "be", "been", "being", "has", "have", "had", "does", "did"),
        *(
            "can",
            "cannot",
            "could",
            "should",
            "would",
            "must",
            "might",
            "shall",
            "not",
            "no",
            "nor",
            "and",
            "or",
            "but",
        ),
        *("if", "then", "else", "than", "as", "when", "while", "where", "because", "since", "until", "unless"),
        *("though", "although", "after", "before", "during", "inside", "outside", "within", "without", "into", "onto"),
        *("from", "to", "of", "off", "on", "in", "at", "by", "for", "with", "about", "above", "below", "under", "over"),
        *("between", "through", "against", "among", "via", "per", "again", "also", "only", "just", "still", "already"),
        *(
            "never",
            "always",
            "often",
            "sometimes",
            "here",
            "there",
            "now",
            "all",
            "any",
            "each",
            "every",
            "some",
            "both",
        ),
        *(
            "either",
            "neither",
            "other",
            "another",
            "such",
            "same",
            "more",
            "most",
            "less",
            "least",
            "few",
            "many",
            "much",
        ),
        *("my", "your", "his", "her", "our", "their", "shows", "says", "gets", "got", "goes", "went", "comes", "came"),
        *("runs", "ran", "needs", "wants", "tries", "tried", "fails", "failed", "reports", "reported", "sees", "exits"),
        *("exited", "crashes", "crashed", "hangs", "hung", "boots", "booted", "works", "worked", "stops", "stopped"),
        *("starts", "started", "returns", "returned", "uses", "used", "seems", "appears", "becomes", "became", "sent"),
        *("lists", "listed", "holds", "keeps", "kept", "engine"),
    )
)
_BEFORE_PROSE = (" ", "'", '"', "`")


def named(match: re.Match[str], replaced: Callable[[str], str]) -> str:
    """What a place (groups ``k`` and ``s``) becomes, unless a sentence goes on there."""
    name = match["s"]
    return (
        match.group()
        if match["k"].endswith(_BEFORE_PROSE) and name.lower().rstrip(".") in PROSE
        else match["k"] + replaced(name)
    )
