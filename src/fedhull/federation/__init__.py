"""A study from a participant's point of view: what a site does, what the coordinator does."""
