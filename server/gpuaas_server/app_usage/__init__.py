"""Keeps what apps count for the projects that they serve (tokens, requests, job-hours), apart from GPU time."""
