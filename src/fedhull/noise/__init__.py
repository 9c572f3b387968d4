"""Noise that hides single cells in sums, and how much of it a promise of privacy takes."""
