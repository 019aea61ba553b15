"""Teardown receipts: after an app says that it is gone, the host is asked, and what it shows is kept for good.

Operations start and settle receipts through the service; people read them. Nobody changes one that is settled.
"""
