"""From raw data to the disc: embedders are fitted once and place new cells in the same frame."""
