"""Deletion of tenants and projects: asked for, undone or purged after a grace period; and the export of what they hold."""
