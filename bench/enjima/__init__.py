"""The experiments of Enjima (Fernando et al., SIGMOD 2025)."""
