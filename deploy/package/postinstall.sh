#!/bin/sh
# Runs after an installation and an upgrade. Nothing is enabled, started or restarted: which agent runs the node is its operator's
# decision.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
