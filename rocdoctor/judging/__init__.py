"""The check API, running checks, and from their findings to ranked causes."""
