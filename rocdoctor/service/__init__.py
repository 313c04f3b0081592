"""What commands and screens share: opening evidence, choosing checks, planning, writing files."""
