"""The commands that this package adds to `fedhull`; entry points name them."""

from fedhull.extend import Command

BENCH = Command(
    "fedhull_lab.bench.command:bench_app",
    "Measure speed against peers, as ratios within one run.",
)
REPRODUCE = Command(
    "fedhull_lab.reproduce.command:reproduce",
    "Run an experiment from the paper and show its numbers beside ours.",
)
DEMO = Command(
    "fedhull_lab.demo:demo",
    "Run a demo study of four sites, one of which drops out.",
)
