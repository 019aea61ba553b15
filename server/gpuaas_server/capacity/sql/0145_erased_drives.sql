-- A node that does not erase drives is not offered where erased drives are required: its release would always be blocked.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

ALTER TABLE node_capacity ADD COLUMN erase_drives BOOLEAN DEFAULT 'true' NOT NULL;
ALTER TABLE node_fits ADD COLUMN drives_erased BOOLEAN DEFAULT 'true' NOT NULL;
UPDATE node_capacity c SET erase_drives = false FROM nodes n WHERE n.id = c.node_id AND NOT n.erase_drives;

-- Rebuilds node_fits for some nodes from their slots and live claims: which offered sizes fit, how tightly, and how close
-- together. The caller holds the locks of the nodes. A slot that is approved or enabled later on a node that is taken whole
-- is not free, and a node with any live claim is not whole. A whole node fits once for each wipe grade that it can prove.
-- `drives_erased`: no slot that it counts has a drive that the node would leave as it is.
-- It works in portions, because the generic plan of its callers expects few nodes. Both sides of a join name the nodes, so
-- that nothing reads all of them.
CREATE OR REPLACE FUNCTION refit_nodes_within(all_nodes text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  portion CONSTANT int := 32;
  nodes text[];
  claims record;
BEGIN
FOR start IN 1 .. coalesce(cardinality(all_nodes), 0) BY portion LOOP
  nodes := all_nodes[start : start + portion - 1];
  SELECT * INTO claims FROM live_claims_on(nodes);
  WITH free AS (
    SELECT s.node_id, s.gpu_model, s.nvlink_group, s.numa_node, c.erase_drives OR s.nvme_device IS NULL AS drive_erased
    FROM node_resource_slots s JOIN node_capacity c USING (node_id)
    WHERE s.node_id = ANY(nodes) AND c.node_id = ANY(nodes) AND c.eligible AND s.present AND s.status = 'available'
      AND s.capacity_shape IN ('any', 'gpu_slice')
      AND s.node_id <> ALL(claims.taken_whole) AND s.id <> ALL(claims.taken_slots)
  ), totals AS (
    SELECT node_id, gpu_model, count(*)::int AS free, bool_and(drive_erased) AS drives_erased
    FROM free GROUP BY node_id, gpu_model
  ), linked AS (
    SELECT node_id, gpu_model, max(n)::int AS free FROM (
      SELECT node_id, gpu_model, count(*) AS n FROM free WHERE nvlink_group IS NOT NULL
      GROUP BY node_id, gpu_model, nvlink_group) g GROUP BY node_id, gpu_model
  ), near AS (
    SELECT node_id, gpu_model, max(n)::int AS free FROM (
      SELECT node_id, gpu_model, count(*) AS n FROM free WHERE numa_node IS NOT NULL
      GROUP BY node_id, gpu_model, numa_node) g GROUP BY node_id, gpu_model
  ), sizes AS (
    SELECT DISTINCT k.gpu_model, unnest(k.gpu_counts) AS size FROM skus k WHERE k.shape = 'gpu_slice' AND k.offered
  ), whole AS (
    SELECT s.node_id, c.wipe_grade, min(s.gpu_model) AS gpu_model, count(*)::int AS size,
      bool_and(c.erase_drives OR s.nvme_device IS NULL) AS drives_erased
    FROM node_resource_slots s JOIN node_capacity c USING (node_id)
    WHERE s.node_id = ANY(nodes) AND c.node_id = ANY(nodes) AND c.eligible AND s.present
      AND s.node_id <> ALL(claims.taken_at_all)
    GROUP BY s.node_id, c.wipe_grade
    HAVING bool_and(s.status = 'available' AND s.capacity_shape IN ('any', 'baremetal'))
      AND min(s.gpu_model) = max(s.gpu_model)
  ), fits AS (
    SELECT t.node_id, t.gpu_model, 'gpu_slice' AS shape, z.size, 'inspected' AS wipe_grade, t.free - z.size AS leftover,
      CASE WHEN z.size <= coalesce(l.free, 0) THEN 0 WHEN z.size <= coalesce(m.free, 0) THEN 1 ELSE 2 END AS spread,
      t.drives_erased
    FROM totals t JOIN sizes z ON z.gpu_model = t.gpu_model AND z.size <= t.free
    LEFT JOIN linked l ON l.node_id = t.node_id AND l.gpu_model = t.gpu_model
    LEFT JOIN near m ON m.node_id = t.node_id AND m.gpu_model = t.gpu_model
    UNION ALL
    SELECT w.node_id, w.gpu_model, 'baremetal', w.size, g.wipe_grade, 0, 0, w.drives_erased
    FROM whole w JOIN (VALUES ('inspected'), ('rebooted')) g (wipe_grade) ON g.wipe_grade <= w.wipe_grade
  ), gone AS (
    DELETE FROM node_fits f WHERE f.node_id = ANY(nodes) AND NOT EXISTS (
      SELECT 1 FROM fits n WHERE n.node_id = f.node_id AND n.gpu_model = f.gpu_model AND n.shape = f.shape AND n.size = f.size
        AND n.wipe_grade = f.wipe_grade)
  )
  INSERT INTO node_fits AS f (node_id, gpu_model, shape, size, wipe_grade, leftover, spread, drives_erased)
  SELECT node_id, gpu_model, shape, size, wipe_grade, leftover, spread, drives_erased FROM fits
  ON CONFLICT (node_id, gpu_model, shape, size, wipe_grade)
    DO UPDATE SET leftover = EXCLUDED.leftover, spread = EXCLUDED.spread, drives_erased = EXCLUDED.drives_erased
    WHERE (f.leftover, f.spread, f.drives_erased)
      IS DISTINCT FROM (EXCLUDED.leftover, EXCLUDED.spread, EXCLUDED.drives_erased);
END LOOP;
END $$;

DROP FUNCTION offer_nodes(text, text, int, int, boolean, text);
-- Locks the best nodes for a placement request, of those that can prove the wipe that it needs, and then reads their slots
-- with a fresh snapshot: what it returns cannot be taken by another scheduler before the caller commits. Nodes that others
-- have locked are passed over. `patient` waits for them instead, in the order of node ids so that nobody waits in a circle:
-- the last try before a refusal. A node's row is locked before its fit (the order of OF), so that a fit that was used up
-- just now is passed over too.
-- The first row has no node: its slot_index says how many nodes were locked. A node whose fit is wrong comes with too few
-- slots: at least one row, with no slot when none is free, so that the caller can refit it.
CREATE FUNCTION offer_nodes(wanted_model text, wanted_shape text, wanted_size int, how_many int, patient boolean,
  wanted_grade text DEFAULT 'inspected', wanted_erased boolean DEFAULT false)
RETURNS TABLE (node_id text, slot_id text, slot_index int, nvlink_group text, numa_node smallint)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  locked text[];
  claims record;
BEGIN
  IF patient THEN
    SELECT array_agg(n.id) INTO locked FROM (
      SELECT c.node_id AS id FROM node_capacity c WHERE c.node_id = ANY(ARRAY(
        SELECT f.node_id FROM node_fits f
        WHERE f.gpu_model = wanted_model AND f.shape = wanted_shape AND f.size = wanted_size
          AND f.wipe_grade = wanted_grade AND (f.drives_erased OR NOT wanted_erased)
        ORDER BY f.leftover, f.spread, f.node_id LIMIT how_many))
      ORDER BY c.node_id FOR UPDATE) n;
  ELSE
    SELECT array_agg(n.id) INTO locked FROM (
      SELECT f.node_id AS id FROM node_fits f JOIN node_capacity c ON c.node_id = f.node_id
      WHERE f.gpu_model = wanted_model AND f.shape = wanted_shape AND f.size = wanted_size
        AND f.wipe_grade = wanted_grade AND (f.drives_erased OR NOT wanted_erased)
      ORDER BY f.leftover, f.spread, f.node_id LIMIT how_many FOR UPDATE OF c, f SKIP LOCKED) n;
  END IF;
  SELECT * INTO claims FROM live_claims_on(locked);
  RETURN QUERY
    SELECT NULL::text, NULL::text, coalesce(cardinality(locked), 0), NULL::text, NULL::smallint
    UNION ALL
    SELECT f.node_id, s.id, s.slot_index::int, s.nvlink_group, s.numa_node
    FROM node_fits f LEFT JOIN node_resource_slots s ON s.node_id = f.node_id AND s.gpu_model = wanted_model
      AND s.status = 'available' AND s.present AND s.capacity_shape IN ('any', wanted_shape)
      AND s.id <> ALL(claims.taken_slots) AND s.node_id <> ALL(
        CASE WHEN wanted_shape = 'baremetal' THEN claims.taken_at_all ELSE claims.taken_whole END)
    WHERE f.node_id = ANY(locked) AND f.gpu_model = wanted_model AND f.shape = wanted_shape AND f.size = wanted_size
      AND f.wipe_grade = wanted_grade;
END $$;

SELECT refit_nodes(ARRAY(SELECT node_id FROM node_capacity WHERE NOT erase_drives ORDER BY node_id));
