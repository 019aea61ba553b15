"""The console in a real Chromium: somebody in front of it, and a small cloud worth looking at behind it."""
