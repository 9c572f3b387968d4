"""The task of a study of moments: what a site adds to two sums, and what is learned from them."""
