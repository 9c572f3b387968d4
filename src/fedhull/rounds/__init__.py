"""Rounds: each file is one masked sum, with both of its sides and what it discloses."""
