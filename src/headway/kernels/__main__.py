"""`python -m headway.kernels`: compiles the machine code that all queries share; else the first that start do.

It is kept beside the modules, or where numba keeps it for those who may not write there.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

import headway.kernels


def main() -> None:
    """What has a signature is compiled when its module is imported."""
    for module in walk_packages(headway.kernels.__path__, "headway.kernels."):
        if not module.name.endswith("__main__"):
            import_module(module.name)


if __name__ == "__main__":
    main()
