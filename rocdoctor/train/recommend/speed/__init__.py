"""Time of a training step: transfers, communication, schedules, placement of ranks."""
