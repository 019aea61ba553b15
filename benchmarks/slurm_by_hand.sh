#!/bin/bash
# What apps/slurm does, as a person runs it over plain SSH with the files ready in a folder:
#   slurm_by_hand.sh deploy|add|rest|wake|decommission HEAD [NODE=ADDRESS…]
# FILES has the cluster's files as they lie on a host; SSH is the command, the login has sudo. The head is a worker, too.
set -euo pipefail
verb=$1 head=$2
shift 2
USER_NAME=researcher USER_ID=64100

at() { $SSH "$1" sudo bash -s; } # what is on its input runs there as root

push() { tar -C "$FILES" -c . | $SSH "$1" "sudo tar -C / -x --no-same-owner --no-overwrite-dir"; }

# A host of either kind: packages are there and their own units sleep, the person has an account, files have owners.
prepare() { # ADDRESS NODE [NAME OF THE HEAD]: with it, a worker that joins at once
  push "$1"
  at "$1" <<END
set -euo pipefail
dpkg-query -W munge slurmd slurm-client libpmix2 slurmctld > /dev/null
for unit in slurmctld slurmd slurmdbd munge; do ln -sfn /dev/null /etc/systemd/system/\$unit.service; done
ln -sfn libpmix.so.2 /usr/lib/x86_64-linux-gnu/pmix2/lib/libpmix.so
cd /var/lib/gpuaas-slurm
mkdir -p home controller /var/spool/slurmd /var/log/gpuaas-slurm
groupadd --gid $USER_ID $USER_NAME
useradd --uid $USER_ID --gid $USER_ID --create-home --home-dir \$PWD/home/$USER_NAME --shell /bin/bash $USER_NAME
chown slurm:slurm controller /var/log/gpuaas-slurm
chmod 700 controller munge
chown -R munge:munge munge
chmod 400 munge/key
sed -i 's/@NODE@/$2/; s/@ADDRESS@/$1/' /etc/systemd/system/gpuaas-slurm-worker.service
systemctl daemon-reload
systemctl enable --quiet --now gpuaas-slurm-munge.service
[ -n "${3:-}" ] || exit 0
echo "$head ${3:-} # gpuaas-slurm" >> /etc/hosts
systemctl enable --quiet --now gpuaas-slurm-worker.service
END
}

# slurmctld writes its first state for nobody, so that its log begins without errors about files that are not there.
start_head() {
  at "$head" <<'END'
set -euo pipefail
up() { until scontrol ping 2> /dev/null | grep -q ' is UP'; do sleep 0.05; done; }
runuser -u slurm -- slurmctld -D -c -L /dev/null 2> /dev/null &
up
pkill -x slurmctld
wait || true
systemctl enable --quiet --now gpuaas-slurm-controller.service gpuaas-slurm-status.socket
up
systemctl enable --quiet --now gpuaas-slurm-worker.service
END
}

# The cluster counts on these nodes, and a job of the person's runs on all of them.
prove() { # NODE…
  local names count=$#
  names=$(IFS=,; echo "$*")
  at "$head" <<END
set -euo pipefail
usable() { sinfo -h -N -n $names -t idle -o %N 2> /dev/null | sort -u | wc -l; }
for try in {1..300}; do [ "\$(usable)" != $count ] || break; sleep 0.1; done
runuser -u $USER_NAME -- sbatch --test-only --wrap true
runuser -u $USER_NAME -- srun --input=none --immediate=10 -w $names -N $count hostname > /dev/null
END
}

clear_host() {
  at "$1" <<'END'
set -euo pipefail
cd /etc/systemd/system
for unit in status.socket worker.service controller.service munge.service; do
  systemctl disable --quiet --now gpuaas-slurm-$unit 2> /dev/null || true
done
systemctl stop slurmstepd.scope 2> /dev/null || true
pkill -KILL -x 'slurmctld|slurmd|slurmstepd' || true
pkill -KILL -u researcher || true
userdel researcher
rm -f /etc/slurm/{slurm,cgroup,gres}.conf gpuaas-slurm-* /usr/lib/x86_64-linux-gnu/pmix2/lib/libpmix.so
rm -f slurmctld.service slurmd.service slurmdbd.service munge.service
rm -rf /var/spool/slurmd /var/log/gpuaas-slurm /run/gpuaas-slurm* /var/lib/gpuaas-slurm
sed -i '/# gpuaas-slurm$/d' /etc/hosts
systemctl daemon-reload
systemctl reset-failed
# And a look whether it is so: processes, ports, units, files, accounts.
left=$(
  pgrep -l 'slurm|munge'
  ss -Hltn | grep -E ':(6817|6818|6819|6821) '
  systemctl list-units --all --plain --no-legend 'gpuaas-slurm*' 'slurm*'
  ls -d gpuaas-slurm* /var/lib/gpuaas-slurm /var/log/gpuaas-slurm /var/spool/slurmd 2> /dev/null
  id researcher 2> /dev/null
) || true
[ -z "$left" ] || { echo "$left" >&2; exit 1; }
END
}

all() { # a function for each of the addresses at once; fails when one fails
  local work=$1 one jobs=()
  shift
  for one; do $work "$one" & jobs+=($!); done
  for one in "${jobs[@]}"; do wait "$one"; done
}

# Workers that have everything already: their daemons end, and start again. Less than this no way of adding them can do.
rest() { at "${1#*=}" <<< "systemctl stop gpuaas-slurm-worker.service gpuaas-slurm-munge.service"; }

wake() {
  at "${1#*=}" <<'END'
set -euo pipefail
systemctl start gpuaas-slurm-worker.service
for try in {1..300}; do [ -z "$(ss -Hltn 'sport = :6818')" ] || exit 0; sleep 0.05; done
exit 1
END
}

join() { prepare "${1#*=}" "${1%%=*}" "$head_name"; }

case $verb in
  deploy)
    head -c 1024 /dev/urandom > "$FILES/var/lib/gpuaas-slurm/munge/key"
    prepare "$head" w0
    start_head
    prove w0
    ;;
  add)
    head_name=$($SSH "$head" hostname)
    for one; do echo "${one#*=} ${one%%=*} # gpuaas-slurm"; done | $SSH "$head" "sudo tee -a /etc/hosts" > /dev/null
    all join "$@"
    prove "${@%%=*}"
    ;;
  rest) all rest "$@" ;;
  wake)
    all wake "$@"
    prove "${@%%=*}"
    ;;
  decommission)
    at "$head" <<'END'
jobs=$(squeue -h -o %A)
[ -z "$jobs" ] || scancel --full $jobs
until [ -z "$(squeue -h)" ]; do sleep 0.25; done
END
    all clear_host "$head" "${@#*=}"
    ;;
esac
