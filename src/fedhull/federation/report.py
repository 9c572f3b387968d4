"""The coordinator's report: what happened in a study, in plain words."""

from fedhull.federation.coordinator import Outcome


def to_markdown(outcome: Outcome) -> str:
    """One page of Markdown."""
    result, study = outcome.to_json(), outcome.study
    vanished = {n: why for n, why in outcome.failures.items() if n not in result["survivors"]}
    late = {n: why for n, why in outcome.failures.items() if n in result["survivors"]}
    accuracy = "not known, because a site that was asked for its counts did not answer"
    if result["accuracy"] is not None:
        accuracy = (
            f"{result['accuracy']:.2f} % of {result['tested']:,} points that "
            f"{len(result['evaluators'])} sites had held out, which the coordinator knows as a sum"
        )
    lines = [
        f"# {study.name}",
        f"Study {study.hash.hex()}, {len(study.clients)} sites on the roster, threshold "
        f"{study.threshold}.",
        "## Who took part",
        f"In the sum: {', '.join(result['survivors'])}.",
        _listed("Not in the sum", vanished),
        _listed("In the sum, but did not stay to the end", late),
        "## What the coordinator received",
        f"The sum over these sites, and from it {result['hulls']} hulls with "
        f"{result['points_received']:,} corners in all, each known as a bin of width "
        f"{study.geometry.epsilon:g} ({result['bins']:,} bins within radius "
        f"{study.geometry.radius:g}, curvature −{study.geometry.curvature:g}). Not whose hull is "
        f"whose, not what the sites call their classes, no other point.",
        "## What it learned",
        f"A classifier for {result['classes']} classes (method {study.learning.method}, grouping "
        f"{study.learning.grouping}, guard {study.learning.guard}). Accuracy: {accuracy}.",
        "## What it cost",
        f"Bytes up, at most per site: {max(result['bytes_up'].values()):,}; down: "
        f"{max(result['bytes_down'].values()):,}. Label code {result['label_code']}, field of "
        f"{result['field_bits']} bits.",
        "Seconds: " + ", ".join(f"{k} {v:.2f}" for k, v in result["seconds"].items()) + ".",
    ]
    return "\n\n".join(line for line in lines if line) + "\n"


def _listed(what: str, names: dict[str, str]) -> str:
    if not names:
        return ""
    return f"{what}: " + ", ".join(f"{name} ({why})" for name, why in sorted(names.items())) + "."
