#!/bin/bash
# What apps/containers does with a launchable image, as a person runs it over plain SSH with the unit and its variables ready:
#   launch_by_hand.sh launch|remove ADDRESS
# SSH is the command, the login has sudo. FILES has the unit and the variables as they lie on the host. NAME, REFERENCE,
# REGISTRY, PORT and KEPT (what the image is named on the host) say which container; AUTH is the registry's user and password.
set -euo pipefail
verb=$1 address=$2

at() { $SSH "$address" sudo bash -s; } # what is on its input runs there as root

case $verb in
  launch)
    tar -C "$FILES" -c . | $SSH "$address" "sudo tar -C / -x --no-same-owner --no-overwrite-dir"
    # The password goes over the connection and through a pipe; the login is taken back after the pull.
    at <<END
set -euo pipefail
[ -z "\$(ss -Hltn 'sport = :$PORT')" ]
mkdir -p /run/by-hand
cp /var/lib/by-hand/ca.crt /run/by-hand/ca.crt
podman login --cert-dir=/run/by-hand --authfile=/run/by-hand/auth.json --username='${AUTH%%:*}' --password-stdin $REGISTRY > /dev/null <<< '${AUTH#*:}'
podman pull --quiet --authfile=/run/by-hand/auth.json --cert-dir=/run/by-hand $REFERENCE > /dev/null
rm -rf /run/by-hand
podman images --digests --format '{{.Digest}}' | grep -q "${REFERENCE#*@}"
podman tag $REFERENCE $KEPT
systemctl daemon-reload
systemctl enable --quiet $NAME.service
systemctl start $NAME.service
END
    # Ready: it answers from outside, as its users call it.
    for try in {1..600}; do
      ! curl --silent --fail --max-time 5 --output /dev/null "http://$address:$PORT/greeting" || exit 0
      sleep 0.05
    done
    exit 1
    ;;
  remove)
    at <<END
set -euo pipefail
systemctl disable --quiet --now $NAME.service
rm -f /etc/systemd/system/$NAME.service
systemctl daemon-reload
podman rm --force --ignore --time=0 $NAME > /dev/null
podman rmi --force "\$(podman image inspect --format '{{.Id}}' $KEPT)" > /dev/null
podman network rm --force $NAME > /dev/null
rm -rf /var/lib/gpuaas-containers /var/lib/by-hand
# And a look whether it is so.
left=\$(podman ps --all --quiet; podman images --quiet; podman volume ls --quiet; ss -Hltn 'sport = :$PORT')
[ -z "\$left" ] || { echo "\$left" >&2; exit 1; }
END
    ;;
esac
