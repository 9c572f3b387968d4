"""The task of an encoder from three sums: which genes vary, along which axes, and around which
anchors cells lie."""
