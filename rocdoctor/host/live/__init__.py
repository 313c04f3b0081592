"""The machine that we run on: its files, programs, processes and interpreters."""
