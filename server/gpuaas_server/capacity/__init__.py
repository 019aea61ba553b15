"""What can be had: slots of nodes, SKUs, quotas, claims, and the scheduler that turns a wish into claims."""
