"""The newcomer's first two minutes: the whole platform and a fleet on this machine, and its main job for real."""
