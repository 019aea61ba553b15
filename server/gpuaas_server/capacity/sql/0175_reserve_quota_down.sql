ALTER FUNCTION reserve_artifact_quota RENAME TO take_artifact_quota;
ALTER FUNCTION reserve_gpu_quota RENAME TO take_gpu_quota;
