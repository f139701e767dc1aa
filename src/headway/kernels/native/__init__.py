"""From the source of a kernel to machine code: a translator for the part of Python that kernels are written in.

`python -m headway.kernels.native` is the process that compiles for a node; nothing that it imports takes long.
"""
