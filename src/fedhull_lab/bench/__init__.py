"""Speed against peers: every figure is a ratio of times taken in the same run."""
