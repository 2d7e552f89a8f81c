#!/bin/sh
# Runs after a removal. The state of the node in /var/lib/kubelet stays: the pods use it, and so does the next agent.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
