"""The paper's experiments, each a function that yields progress and returns plain results."""
