"""A chaos harness: real processes under attack, concurrent clients, and a checker that trusts none of them.

`cd tests && python -m chaos --seed 11 --seconds 90` runs it by hand; docs/explanation/chaos.md says what is checked.
"""
