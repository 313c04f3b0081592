"""The linter of files that set environment variables: scripts, container and job files, profiles."""
