-- 8 slots a node, as if enrolled, discovered and approved. Nobody's agent: the rows alone.
INSERT INTO nodes (id, name, hostname, address, public_key, ssh_host_public_key, agent_version, created_at)
SELECT 'nod_' || lpad(n::text, 26, '0'), 'bench-' || n, 'bench-' || n, '198.18.0.1', sha256(n::text::bytea),
  'ssh-ed25519 AAAA', 'bench', now() FROM generate_series(1, {nodes}) n;
INSERT INTO node_capacity (node_id, eligible) SELECT id, true FROM nodes;
INSERT INTO node_resource_slots (id, node_id, slot_index, status, gpu_model, gpu_uuid, memory_mib, pci_address,
  numa_node, nvlink_group, nvme_device, iommu_group, approved_at, approved_by, created_at)
SELECT 'slt_' || lpad((n * 8 + i)::text, 26, '0'), 'nod_' || lpad(n::text, 26, '0'), i, 'available', '{model}',
  'GPU-' || n || '-' || i, 81559, '0000:' || to_hex(16 + i) || ':00.0', i / 4, (i / 4)::text, '/dev/nvme' || i || 'n1',
  20 + i, now(), 'usr_bench', now() FROM generate_series(1, {nodes}) n, generate_series(0, 7) i;
