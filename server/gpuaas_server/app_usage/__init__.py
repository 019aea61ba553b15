"""What apps count for the projects that they serve: tokens, requests, job-hours. A dimension of its own beside GPU time."""
