"""Whole federated studies in one process, every message through the real protocol."""
