"""Apps of the catalogue that run as one container: their manifests, and the recipes of the images that are built here."""
