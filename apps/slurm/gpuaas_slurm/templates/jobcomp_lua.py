"""Renders jobcomp.lua, which slurmctld runs for each job that ends: without accounting, usage is read from what it writes.

Slurm knows the GPUs of a job by name and number without accounting too, but writes them nowhere else.
"""

from gpuaas_slurm import layout

KEPT = 32 << 20  # bytes of a file; there is one before it


def jobcomp_lua() -> str:
    return f"""\
-- Writes a line for each run of a job that has ended: its number, start and end, and how many cores and GPUs it had.
local path, kept = "{layout.COMPLETED_JOBS}", {KEPT}

local function gpus_of(gres)
  local count = 0
  for part in string.gmatch(gres or "", "[^,]+") do
    if string.sub(part, 1, 4) == "gpu:" then
      count = count + tonumber(string.match((string.gsub(part, "%(.*", "")), ":(%d+)$") or 0)
    end
  end
  return count
end

local function open()
  local file, problem = io.open(path, "a")
  if file ~= nil and file:seek("end") > kept then
    file:close()
    os.rename(path, path .. ".1")
    file, problem = io.open(path, "a")
  end
  return file, problem
end

function slurm_jobcomp_log_record(job)
  if job.start_time == 0 or (job.total_nodes or 0) == 0 then
    return slurm.SUCCESS -- it never started
  end
  local file, problem = open()
  if file == nil then
    slurm.log_error("the end of job %d is not written down: %s", job.job_id, problem)
    return slurm.SUCCESS
  end
  local gpus = gpus_of(job.gres_used)
  file:write(string.format("%d %d %d %d %d\\n", job.job_id, job.start_time, job.end_time, job.total_cpus, gpus))
  file:close()
  return slurm.SUCCESS
end
"""
