#!/bin/bash
# What the agent does for a release of a bare-metal host, as root does it with ordinary commands:
#   release_by_hand.sh baseline|lease|wipe|check
# RECORDS is a folder on the host with what was written down before the tenant came; wipe ends with the restart.
set -euo pipefail
records=${RECORDS:?}
NOT_COMPARED=(/proc /sys /dev /run /tmp /var/tmp /var/log /var/cache /var/lib/systemd "$records")

# Every file: type, mode, owner, name, target of a link; and the digest of its content.
files() {
  local skip=() one
  for one in "${NOT_COMPARED[@]}"; do skip+=(-path "$one" -prune -o); done
  find / -xdev "${skip[@]}" -printf '%y %m %U:%G %p %l\n' | grep -v ' /etc/ssh/ssh_host_' | sort
  find / -xdev "${skip[@]}" -type f -not -path '/etc/ssh/ssh_host_*' -print0 | sort -z | xargs -0 sha256sum
}

# What runs, by the content of its program; ports, mounts, units, modules, routes, packet filters.
live() {
  local one
  for one in /proc/[0-9]*; do
    [ "${one#/proc/}" = $$ ] || sha256sum "$one/exe" 2> /dev/null | cut -d ' ' -f 1 || true
  done | sort -u
  ss -Hltun | awk '{print $1, $5}' | sort
  findmnt --raw --noheadings --output TARGET,SOURCE,FSTYPE | grep -v ' tmpfs\|^/run\|^/proc' | sort
  systemctl list-unit-files --no-legend --plain | sort
  [ ! -e /proc/modules ] || cut -d ' ' -f 1 /proc/modules | sort
  ip route show table all | grep -v 'table local\|fe80' | sort
  nft list ruleset
}

baseline() {
  mkdir -p -m 700 "$records"
  cp -a /etc "$records/etc"
  files > "$records/files"
  live > "$records/live"
}

lease() {
  useradd --create-home --user-group --shell /bin/bash gpu
  (umask 227; echo 'gpu ALL=(ALL:ALL) NOPASSWD: ALL' > /etc/sudoers.d/gpuaas)
  runuser -u gpu -- bash -c "$LITTER"
}

wipe() {
  pkill -KILL -u gpu || true
  userdel --remove gpu 2> /dev/null || true
  while read -r unit; do
    systemctl stop "$unit"
  done < <(systemctl list-units --type service --state running --no-legend --plain | awk '/transient|left-/{print $1}')
  files > "$records/found"
  # Added, or not as it was: away with it, and back from the copy what there is one of.
  { diff "$records/files" "$records/found" || true; } | sed -n 's/^> . [0-7]* [0-9:]* \(\/.*\) [^ ]*$/\1/p; s/^> [0-9a-f]\{64\}  //p' |
    sort -ru | while read -r path; do
    [ -d "$path" ] && [ ! -L "$path" ] && { rmdir "$path" 2> /dev/null || true; } || rm -f "$path"
  done
  rsync_etc
  find /tmp /var/tmp -mindepth 1 -delete 2> /dev/null || true
  sync
  reboot --force --force
}

rsync_etc() { # ssh's own keys are made anew after the restart
  tar -C "$records/etc" -c --exclude ./ssh/ssh_host_* . | tar -C /etc -x
}

check() {
  find /tmp /var/tmp -mindepth 1 -not -path '/tmp/systemd-private*' -not -path '/var/tmp/systemd-private*' -delete 2> /dev/null || true
  find /var/log -type f -exec truncate -s 0 {} +
  rm -f /etc/ssh/ssh_host_*
  ssh-keygen -A > /dev/null
  systemctl restart ssh
  files > "$records/found"
  diff "$records/files" "$records/found"
  for try in {1..100}; do # the last services of the boot may still be starting
    live > "$records/found-live"
    ! cmp --quiet "$records/live" "$records/found-live" || break
    sleep 0.1
  done
  diff "$records/live" "$records/found-live"
}

"$1"
