"""The hosts: their enrolment, their signed agent calls, their tasks, their liveness, and what operators do with them."""
