"""The hosts: their enrolment, their signed agent calls, their liveness, and what operators do with them."""
