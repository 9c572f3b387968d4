"""A whole study, stage by stage, in the paper's synthetic setting."""

from typing import Any

from fedhull.data.generated import make_two_class
from fedhull.simulation.simulate import simulate


def bench_end_to_end(n: int = 80_000, clients: int = 10, epsilon: float = 0.01) -> dict[str, Any]:
    """Seconds of each stage of a federated study over the paper's two-class data."""
    data = make_two_class(n, mu=0.4, gamma=0.01, seed=0)
    # once small and unmeasured, for the compiler
    simulate(data.x[:2000], data.y[:2000], clients=3, epsilon=0.1)
    result = simulate(data.x, data.y, clients=clients, epsilon=epsilon).to_json()
    seconds = result["seconds"]
    return {
        "n": n,
        "clients": clients,
        "epsilon": epsilon,
        "accuracy": result["accuracy"]["FL"]["mean"],
        "points_sent": result["leakage"]["points_sent"],
        "seconds": seconds,
        "grouping_and_learning": seconds["grouping"] + seconds["learning"],
    }
