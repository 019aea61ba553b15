ALTER FUNCTION take_gpu_quota RENAME TO reserve_gpu_quota;
ALTER FUNCTION take_artifact_quota RENAME TO reserve_artifact_quota;
