"""Colours that colour-blind readers can tell apart, on light and on dark paper."""

# Okabe and Ito's first six, a darker yellow and a grey for their last two, then four of Paul Tol's
PALETTE = [
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9",
    "#C9B800", "#77797C", "#882255", "#44AA99", "#AA4499", "#999933",
]  # fmt: skip
