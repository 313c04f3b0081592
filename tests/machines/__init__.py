"""Machines of our own, built from compact descriptions: ``python -m tests.machines`` writes them to ``fixtures/``.

Formats are those of the kernel, the drivers and the tools; the figures are invented. ``files`` is a file system that
answers as the live host would, the other modules put the files of a processor, a GPU or a distribution into it.
"""
