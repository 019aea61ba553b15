DROP FUNCTION refit_nodes(text[]);
ALTER FUNCTION refit_nodes_within(text[]) SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION refit_nodes_within(text[]) RENAME TO refit_nodes;
ALTER FUNCTION live_claims_on(text[]) SET plan_cache_mode = force_generic_plan;

CREATE OR REPLACE FUNCTION claim_slots(tenant text, moment timestamptz, taken text[], claims jsonb) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  UPDATE node_resource_slots SET status = 'claimed' WHERE id = ANY(taken);
  BEGIN
    INSERT INTO allocation_resource_claims (id, tenant_id, allocation_id, node_id, kind, slot_id, lane, claimed_at)
    SELECT c.id, tenant, c.allocation_id, c.node_id, CASE WHEN c.slot_id IS NULL THEN 'node_exclusive' ELSE 'slot' END,
      c.slot_id, int4range(s.lane, s.lane + 1), moment
    FROM jsonb_to_recordset(claims) AS c(id text, allocation_id text, node_id text, slot_id text)
    LEFT JOIN node_resource_slots s ON s.id = c.slot_id;
  EXCEPTION WHEN exclusion_violation OR unique_violation THEN
    RAISE EXCEPTION USING ERRCODE = 'GP001', MESSAGE = 'no_capacity',
      DETAIL = 'These GPUs were taken at the same moment; nothing was done. Try again.';
  END;
  PERFORM refit_nodes(ARRAY(SELECT DISTINCT c.node_id FROM jsonb_to_recordset(claims) AS c(node_id text) ORDER BY 1));
END $$;
