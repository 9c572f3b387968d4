"""From decoded hulls to a classifier: grouping, guards, scikit-learn estimators."""
