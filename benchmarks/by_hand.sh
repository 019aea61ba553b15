# What the agent does on a bare-metal host for `provision`, as a person would type it. USER_CA, HOST_CERT, PRINCIPAL are set.
set -eu
useradd --create-home --user-group --shell /bin/bash --password '*' --expiredate '' gpu
install -d -m 750 /etc/sudoers.d
(umask 227; echo 'gpu ALL=(ALL:ALL) NOPASSWD: ALL' > /etc/sudoers.d/gpuaas)
install -d -m 755 /etc/gpuaas/ssh /etc/gpuaas/ssh/principals /etc/gpuaas/ssh/keys /etc/ssh/sshd_config.d
printf '%s\n' "$HOST_CERT" > /etc/gpuaas/ssh/host_key-cert.pub
cat > /etc/ssh/sshd_config.d/50-gpuaas.conf <<'END'
TrustedUserCAKeys /etc/gpuaas/ssh/user_ca.pub
AuthorizedPrincipalsFile /etc/gpuaas/ssh/principals/%u
RevokedKeys /etc/gpuaas/ssh/revoked.krl
AuthorizedKeysFile .ssh/authorized_keys /etc/gpuaas/ssh/keys/%u
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin no
HostKey /etc/ssh/ssh_host_ed25519_key
HostCertificate /etc/gpuaas/ssh/host_key-cert.pub
END
: > /etc/gpuaas/ssh/revoked.krl
: > /etc/gpuaas/ssh/keys/gpu
printf '%s\n' "$USER_CA" > /etc/gpuaas/ssh/user_ca.pub
printf '%s\n' "$PRINCIPAL" > /etc/gpuaas/ssh/principals/gpu
mkdir -p /run/sshd
/usr/sbin/sshd -t
before=$(stat -c '%i %Y %y' /run/sshd.pid)
kill -HUP "$(cat /run/sshd.pid)"
until now=$(stat -c '%i %Y %y' /run/sshd.pid 2>/dev/null) && [ "$now" != "$before" ]; do sleep 0.005; done
