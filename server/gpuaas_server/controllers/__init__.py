"""Controllers: which service account serves an app, which tenants consent to it, and which replicas are alive."""
