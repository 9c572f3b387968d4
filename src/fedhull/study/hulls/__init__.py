"""The task of a study of hulls: what a site sends, and what is learned from the sum."""
