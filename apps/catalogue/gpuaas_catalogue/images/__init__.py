"""Builds images by recipe: a base of Debian packages, pinned wheels above it, and the app's own files."""
