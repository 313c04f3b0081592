"""What runs in the interpreter under test: torch and the standard library alone, Python 3.9+.

The folder is loaded as a package of its own by ``__main__``, so nothing of rocdoctor need be installed there. Modules
use relative imports only, and import torch inside functions: the runner reads the list of modes without torch.
"""
