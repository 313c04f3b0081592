"""The single file ``rocdoctor.pyz``: ``build`` makes it, ``start`` is what runs first in it."""
