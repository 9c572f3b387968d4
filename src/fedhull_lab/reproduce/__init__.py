"""The paper's experiments, each a function that reports progress and returns plain results."""
