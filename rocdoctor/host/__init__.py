"""The one door to the world: live machine, folder, archive, capture file, pasted text."""
