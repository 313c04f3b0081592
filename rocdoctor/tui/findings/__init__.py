"""The screen of findings: list, page, evidence, verification."""
