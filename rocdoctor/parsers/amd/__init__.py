"""The output of AMD's tools, and what an installation of ROCm looks like."""
