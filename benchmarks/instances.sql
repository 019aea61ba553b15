-- Copies of one instance that was deployed for real, with {members} members and {events} events each: the rows alone.
-- Everything that is not named here is as in the model.
CREATE TEMP TABLE seeded AS
SELECT n, md5(n::text) AS turn, 'ins_' || lpad(n::text, 26, '0') AS id,
  CASE WHEN n <= {quiet} THEN '{quiet_project}' ELSE '{crowded_project}' END AS project_id
FROM generate_series(1, {instances}) n;

INSERT INTO app_instances SELECT copy.* FROM app_instances model, seeded,
  LATERAL jsonb_populate_record(model, jsonb_build_object('id', seeded.id, 'project_id', seeded.project_id,
    'name', 'bench-' || n, 'member_counts', jsonb_build_object('ready', {members}), 'next_ordinal', {members})) copy
WHERE model.id = '{model}';

INSERT INTO app_members SELECT copy.* FROM app_members model, seeded, generate_series(0, {members} - 1) m,
  LATERAL jsonb_populate_record(model, jsonb_build_object('id', 'mem_' || lpad((n * {members} + m)::text, 26, '0'),
    'project_id', seeded.project_id, 'instance_id', seeded.id, 'ordinal', m,
    'allocation_id', 'alc_' || lpad((n * {members} + m)::text, 26, '0'))) copy
WHERE model.instance_id = '{model}';

-- What the model went through, again and again; a round of all instances after the other, as they take turns in life.
CREATE TEMP TABLE story AS
SELECT row_number() OVER (ORDER BY sequence) - 1 AS step, count(*) OVER () AS steps, type, actor, correlation_id, data
FROM app_instance_events WHERE instance_id = '{model}';

INSERT INTO app_instance_events (id, tenant_id, instance_id, at, type, subject, actor, correlation_id, data)
SELECT 'iev_' || lpad((r * {instances} + n)::text, 26, '0'), '{tenant}', seeded.id, now(), type, seeded.id, actor,
  correlation_id, data
FROM generate_series(0, {events} - 1) r JOIN story ON step = r % steps CROSS JOIN seeded
ORDER BY r, turn;

INSERT INTO events (id, transaction_id, time, type, subject, tenant_id, project_id, correlation_id, data)
SELECT 'evt_' || substr(told.id, 5), {first_transaction} + row_number() OVER (ORDER BY told.sequence), told.at, told.type,
  told.subject, told.tenant_id, seeded.project_id, told.correlation_id,
  told.data || jsonb_build_object('instance_id', seeded.id, 'app', '{slug}')
FROM app_instance_events told JOIN seeded ON seeded.id = told.instance_id
ORDER BY told.sequence;
