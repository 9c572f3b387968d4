"""Experiments and benchmarks of fedhull: a package beside it, which uses only what is public.

`fedhull reproduce` and `fedhull bench` are its commands.
"""
