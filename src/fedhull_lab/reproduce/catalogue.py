"""The experiments by their names in `fedhull reproduce`."""

from collections.abc import Callable
from importlib import import_module

from fedhull.extend import Report
from fedhull_lab.reproduce.finding import Finding

Experiment = Callable[[bool, int, Report], Finding]

# name: module and function, imported when it is run, and what it shows
EXPERIMENTS: dict[str, tuple[str, str]] = {
    "differ": ("differ.differ", "where sites differ: alone, the paper's, ours, pooled"),
    "ballot": ("ballot.ballot", "accuracy and calibration with and without a ballot"),
    "alignment": ("alignment.alignment", "sites measured differently, aligned or not"),
    "privacy": ("privacy.privacy", "what noise costs, and who can be found out"),
    "frame": ("frame.frame", "where the encoder of raw cells comes from; corrections"),
    "synthetic": ("synthetic.synthetic", "Fig. 5: two classes and a geodesic"),
    "olsson": ("accuracy.olsson", "Tables 1 and 2: 8 cell types"),
    "lung": ("lung.lung", "Table 1: Lung-Human, six subsets of labels"),
    "networks": ("accuracy.networks", "karate, polbooks, football (not in the paper)"),
    "paul": ("accuracy.paul", "10 myeloid cell types (not in the paper)"),
    "fashion-mnist": ("accuracy.fashion_mnist", "70,000 images (not in the paper)"),
    "quantization": ("quantization.quantization", "Fig. 6–8: the width of the bins"),
    "complexity": ("complexity.complexity", "Theorem 2, App. D–E: corners of hulls"),
    "communication": ("communication.communication", "bytes against L, ε and N"),
    "labels": ("labels.labels", "switched labels, with and without codes"),
    "leakage": ("leakage.leakage", "accuracy against points sent"),
    "grouping": ("grouping.grouping", "hulls in the right class, three methods"),
}


def experiment(name: str) -> Experiment:
    """The experiment of that name."""
    module, function = EXPERIMENTS[name][0].rsplit(".", 1)
    found: Experiment = getattr(import_module(f"fedhull_lab.reproduce.{module}"), function)
    return found
