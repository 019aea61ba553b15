"""The demo runs the whole platform with a fleet on this machine and shows its main job in about two minutes."""
