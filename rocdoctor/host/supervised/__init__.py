"""This machine asked by a child process, so that a hanging kernel read cannot hold us."""
