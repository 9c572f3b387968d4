"""Studies over files: a folder of messages that people carry or sync, one step per call."""
