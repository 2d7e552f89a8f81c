#!/bin/sh
# Runs before a removal: stops the agent. Its pods continue to run. dpkg and rpm run this in an upgrade too, in which the agent
# continues to run: dpkg with the argument "upgrade", rpm with "1", the number of versions that stay.
set -e
case "${1:-}" in
upgrade | failed-upgrade | 1) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
	systemctl disable --now kubeloupe.service || true
fi
