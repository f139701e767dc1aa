"""Peers that are Python libraries: what runs inside their own environments, with numpy and the library alone."""
