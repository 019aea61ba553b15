"""The processes of the platform: api, worker, and the supervisor that runs both on one machine."""
