"""Kernels as C: the translator, and the library that is compiled when the package is built."""
