"""Transports. Every engine drives the same state machines through one small interface."""
