"""Studies on NVIDIA FLARE: kits, the server's controller, the sites' executor, the commands."""
