"""Packages of rocdoctor: for Debian and its relatives, for those of Fedora and openSUSE, and a container image."""
