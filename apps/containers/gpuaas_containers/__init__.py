"""Runs the image of a version in an allocation, as its runtime profile says. It serves many apps and uses the SDK only."""
