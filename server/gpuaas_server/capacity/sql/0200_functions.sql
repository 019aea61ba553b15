-- Functions of the scheduler: what is free, what is offered, what is claimed, and what quotas allow.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

-- A slot keeps its lane for ever, whatever index the host gives it today. A GPU that moves to another place, or a new one in
-- its stead, neither stops the inventory nor blocks another slot's claim.
CREATE FUNCTION slot_takes_a_lane() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.lane := (SELECT coalesce(max(s.lane) + 1, 0) FROM node_resource_slots s WHERE s.node_id = NEW.node_id);
  RETURN NEW;
END $$;
CREATE TRIGGER node_resource_slots_lane BEFORE INSERT ON node_resource_slots
  FOR EACH ROW EXECUTE FUNCTION slot_takes_a_lane();

-- Returns what is claimed on some nodes, whichever tenant has it. A tenant's request must not be offered what another tenant
-- has; so this looks past the tenant wall, and tells which nodes and slots, not whose.
CREATE FUNCTION live_claims_on(nodes text[], OUT taken_whole text[], OUT taken_at_all text[], OUT taken_slots text[])
LANGUAGE plpgsql AS $$
DECLARE before CONSTANT text := coalesce(current_setting('gpuaas.platform', true), '');
BEGIN
  PERFORM set_config('gpuaas.platform', 'on', true);
  SELECT coalesce(array_agg(c.node_id) FILTER (WHERE c.kind = 'node_exclusive'), '{}'),
    coalesce(array_agg(DISTINCT c.node_id), '{}'), coalesce(array_agg(c.slot_id) FILTER (WHERE c.kind = 'slot'), '{}')
  INTO taken_whole, taken_at_all, taken_slots
  FROM allocation_resource_claims c WHERE c.node_id = ANY(nodes) AND c.released_at IS NULL;
  PERFORM set_config('gpuaas.platform', before, true);
END $$;

-- Rebuilds node_fits for some nodes from their slots and live claims: which offered sizes fit, how tightly, and how close
-- together. The caller holds the locks of the nodes. A slot that is approved or enabled later on a node that is taken whole
-- is not free, and a node with any live claim is not whole. A whole node fits once for each wipe grade that it can prove.
-- `drives_erased`: no slot that it counts has a drive that the node would leave as it is.
-- It works in portions, because the generic plan of its callers expects few nodes. Both sides of a join name the nodes, so
-- that nothing reads all of them.
CREATE FUNCTION refit_nodes_within(all_nodes text[]) RETURNS void LANGUAGE plpgsql AS $$
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

-- Rebuilds node_fits for callers outside the database. It has a generic plan, because planning anew costs five times what
-- running it for one node costs. Functions that it calls inherit the setting: a setting of their own would cost more than
-- some of what they do.
CREATE FUNCTION refit_nodes(all_nodes text[]) RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  PERFORM refit_nodes_within(all_nodes);
END $$;

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

-- Takes slots that offer_nodes() has locked: marks them, writes their claims and refits their nodes, in one round trip.
-- `claims` is a list of {id, allocation_id, node_id, slot_id}; no slot means the whole node. Callers tell what the
-- constraints refuse by the names of the constraints.
CREATE FUNCTION claim_slots(tenant text, moment timestamptz, taken text[], claims jsonb) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  UPDATE node_resource_slots SET status = 'claimed' WHERE id = ANY(taken);
  INSERT INTO allocation_resource_claims (id, tenant_id, allocation_id, node_id, kind, slot_id, lane, claimed_at)
  SELECT c.id, tenant, c.allocation_id, c.node_id, CASE WHEN c.slot_id IS NULL THEN 'node_exclusive' ELSE 'slot' END,
    c.slot_id, int4range(s.lane, s.lane + 1), moment
  FROM jsonb_to_recordset(claims) AS c(id text, allocation_id text, node_id text, slot_id text)
  LEFT JOIN node_resource_slots s ON s.id = c.slot_id;
  PERFORM refit_nodes_within(
    ARRAY(SELECT DISTINCT c.node_id FROM jsonb_to_recordset(claims) AS c(node_id text) ORDER BY 1));
END $$;

-- Counts GPUs against quotas, in the order given, or refuses as a whole: beyond a limit, or when too many GPUs of the scope
-- are out of use because their clean-up is not proven. The refusal is an error, so that nothing of the transaction can be
-- kept and the caller can send its COMMIT without waiting for the answer.
CREATE FUNCTION reserve_gpu_quota(scopes text[], nouns text[], tenant text, gpus int, unproven_default int) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  kept quotas;
  raised_by text;
  unproven_most int;
BEGIN
  FOR i IN 1 .. cardinality(scopes) LOOP
    INSERT INTO quotas AS q (scope_id, tenant_id, gpus_used) VALUES (scopes[i], tenant, gpus)
    ON CONFLICT (scope_id) DO UPDATE SET gpus_used = q.gpus_used + EXCLUDED.gpus_used
      WHERE (q.gpu_limit IS NULL OR q.gpus_used + EXCLUDED.gpus_used <= q.gpu_limit)
        AND (q.unproven_gpus = 0 OR q.unproven_gpus <
          coalesce(q.unproven_gpu_limit, CASE WHEN scopes[i] = tenant THEN unproven_default END, 2147483647));
    IF NOT FOUND THEN
      SELECT * INTO kept FROM quotas WHERE scope_id = scopes[i];
      raised_by := CASE WHEN scopes[i] = tenant THEN 'platform_admin' ELSE 'tenant_admin' END;
      IF kept.gpu_limit IS NOT NULL AND kept.gpus_used + gpus > kept.gpu_limit THEN
        RAISE EXCEPTION USING ERRCODE = 'GP001', MESSAGE = 'quota_exceeded',
          DETAIL = format('The %s''s quota is %s GPUs, %s are in use, and %s more were asked for.', nouns[i],
            kept.gpu_limit, kept.gpus_used, gpus),
          HINT = jsonb_build_object('quota', 'gpus', 'scope', nouns[i], 'scope_id', scopes[i], 'limit', kept.gpu_limit,
            'used', kept.gpus_used, 'gpu_limit', kept.gpu_limit, 'gpus_used', kept.gpus_used, 'wanted', gpus,
            'raised_by', raised_by)::text;
      END IF;
      unproven_most := coalesce(kept.unproven_gpu_limit, unproven_default);
      RAISE EXCEPTION USING ERRCODE = 'GP001', MESSAGE = 'unproven_releases',
        DETAIL = format('%s GPUs that the %s released are not proven clean; at %s nothing more is given to it.',
          kept.unproven_gpus, nouns[i], unproven_most),
        HINT = jsonb_build_object('quota', 'unproven_gpus', 'scope', nouns[i], 'scope_id', scopes[i],
          'limit', unproven_most, 'used', kept.unproven_gpus, 'wanted', gpus, 'raised_by', raised_by)::text;
    END IF;
  END LOOP;
END $$;

-- Counts artifacts and bytes against the quotas of a project and its tenant, or changes nothing and says which quota is in
-- the way. Both rows are locked in one order, so that concurrent callers cannot exceed a limit together.
CREATE FUNCTION reserve_artifact_quota(project text, tenant text, artifacts int, bytes bigint, artifact_default int,
  byte_default bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  kept quotas;
  most bigint;
BEGIN
  INSERT INTO quotas (scope_id, tenant_id) VALUES (project, tenant), (tenant, tenant) ON CONFLICT DO NOTHING;
  PERFORM 1 FROM quotas WHERE scope_id = project FOR UPDATE;
  PERFORM 1 FROM quotas WHERE scope_id = tenant FOR UPDATE;
  FOR kept IN SELECT * FROM quotas WHERE scope_id IN (project, tenant) ORDER BY scope_id = tenant LOOP
    most := coalesce(kept.artifact_limit, CASE WHEN kept.scope_id = tenant THEN artifact_default END);
    IF artifacts > 0 AND kept.artifacts_used + artifacts > most THEN
      RETURN jsonb_build_object('quota', 'artifacts', 'scope_id', kept.scope_id, 'limit', most,
        'used', kept.artifacts_used, 'wanted', artifacts);
    END IF;
    most := coalesce(kept.artifact_byte_limit, CASE WHEN kept.scope_id = tenant THEN byte_default END);
    IF bytes > 0 AND kept.artifact_bytes_used + bytes > most THEN
      RETURN jsonb_build_object('quota', 'artifact_bytes', 'scope_id', kept.scope_id, 'limit', most,
        'used', kept.artifact_bytes_used, 'wanted', bytes);
    END IF;
  END LOOP;
  UPDATE quotas SET artifacts_used = artifacts_used + artifacts, artifact_bytes_used = artifact_bytes_used + bytes
    WHERE scope_id IN (project, tenant);
  RETURN NULL;
END $$;
