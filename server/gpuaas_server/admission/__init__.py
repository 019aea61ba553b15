"""Admission: every call passes the gate, which says who it is, where they want to go, and whether they may."""
