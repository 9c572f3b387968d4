"""Colours that colour-blind readers can tell apart, on light and on dark paper."""

# Okabe and Ito's first six, a darker yellow and a grey for their last two, then Paul Tol's; beyond
# the first eight, names on the figure have to help
PALETTE = [
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9",
    "#C9B800", "#77797C", "#882255", "#44AA99", "#AA4499", "#999933",
    "#332288", "#661100", "#117733", "#6699CC", "#AA4466", "#A0522D", "#4B0082", "#808000",
]  # fmt: skip
