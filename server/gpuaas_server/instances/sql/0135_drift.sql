-- What the platform does about drift, by policy of the instance, and what it has noticed and tried.
ALTER TABLE app_instances
    ADD COLUMN reconcile_policy text NOT NULL DEFAULT 'notify'
        CONSTRAINT app_instances_reconcile_policy CHECK (reconcile_policy IN ('off', 'notify', 'auto')),
    ADD COLUMN drift jsonb;
