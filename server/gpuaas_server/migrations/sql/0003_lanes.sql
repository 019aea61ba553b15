-- A slot keeps its lane for ever, whatever index the host gives it today: a GPU that moves to another place, or a new one
-- in its stead, must neither stop the inventory nor stand in the way of another slot's claim.
ALTER TABLE node_resource_slots ADD COLUMN lane SMALLINT;
UPDATE node_resource_slots SET lane = slot_index;
ALTER TABLE node_resource_slots ALTER COLUMN lane SET NOT NULL;
ALTER TABLE node_resource_slots ADD CONSTRAINT node_resource_slots_one_per_lane UNIQUE (node_id, lane);

-- An index belongs to the device that has it now; absent ones keep the last they had.
ALTER TABLE node_resource_slots DROP CONSTRAINT node_resource_slots_one_per_index;
CREATE UNIQUE INDEX node_resource_slots_one_per_index ON node_resource_slots (node_id, slot_index) WHERE present;

CREATE FUNCTION slot_takes_a_lane() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.lane := (SELECT coalesce(max(s.lane) + 1, 0) FROM node_resource_slots s WHERE s.node_id = NEW.node_id);
  RETURN NEW;
END $$;
CREATE TRIGGER node_resource_slots_lane BEFORE INSERT ON node_resource_slots
  FOR EACH ROW EXECUTE FUNCTION slot_takes_a_lane();

-- Take slots that offer_nodes() has locked: mark them, write their claims, and refit their nodes, in one round trip.
-- `claims` is a list of {id, allocation_id, node_id, slot_id}; no slot: the whole node.
CREATE OR REPLACE FUNCTION claim_slots(tenant text, moment timestamptz, taken text[], claims jsonb) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  UPDATE node_resource_slots SET status = 'claimed' WHERE id = ANY(taken);
  INSERT INTO allocation_resource_claims (id, tenant_id, allocation_id, node_id, kind, slot_id, lane, claimed_at)
  SELECT c.id, tenant, c.allocation_id, c.node_id, CASE WHEN c.slot_id IS NULL THEN 'node_exclusive' ELSE 'slot' END,
    c.slot_id, int4range(s.lane, s.lane + 1), moment
  FROM jsonb_to_recordset(claims) AS c(id text, allocation_id text, node_id text, slot_id text)
  LEFT JOIN node_resource_slots s ON s.id = c.slot_id;
  PERFORM refit_nodes(ARRAY(SELECT DISTINCT c.node_id FROM jsonb_to_recordset(claims) AS c(node_id text) ORDER BY 1));
END $$;
