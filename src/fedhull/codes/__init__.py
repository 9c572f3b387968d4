"""Exact arithmetic: label codes, prime fields, power sums and their decoding."""
