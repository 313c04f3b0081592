"""Names that tell nothing of a person or a site, whatever their place says."""

from __future__ import annotations

KEPT_HOSTS = frozenset(
    ("localhost", "localhost.localdomain", "localhost6", "none", "null", "unknown", "any", "hostname", "n/a")
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
