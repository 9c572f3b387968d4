"""Studies on Flower: a ServerApp and a ClientApp over the same interface, for researchers."""
