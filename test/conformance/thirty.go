package main

import (
	"regexp"
	"strings"
)

// thirty are the tests that are run behind the proxy unless others are requested: of exec, logs, port-forward, hooks, termination, init
// containers, probes and volumes.
var thirty = []string{
	"[sig-node] Pods should support remote command execution over websockets",
	"[sig-node] Pods should support retrieving logs from the container over websockets",
	"KubeletManagedEtcHosts should test kubelet managed /etc/hosts file",
	"Kubelet when scheduling a busybox command in a pod should print the output to logs",
	"Kubelet when scheduling a busybox command that always fails in a pod should have an terminated reason",
	"Kubelet when scheduling a busybox command that always fails in a pod should be possible to delete",
	"Ephemeral Containers will start an ephemeral container in an existing pod",
	"Kubectl Port forwarding With a server listening on 0.0.0.0 that expects a client request should support a client that connects, sends DATA, and disconnects",
	"Kubectl Port forwarding With a server listening on localhost that expects NO client request should support a client that connects, sends DATA, and disconnects",
	"[sig-node] Container Lifecycle Hook when create a pod with lifecycle hook should execute poststart exec hook properly",
	"[sig-node] Container Lifecycle Hook when create a pod with lifecycle hook should execute poststart http hook properly",
	"[sig-node] Container Lifecycle Hook when create a pod with lifecycle hook should execute prestop exec hook properly",
	"[sig-node] Container Lifecycle Hook when create a pod with lifecycle hook should execute prestop http hook properly",
	"PreStop should call prestop when killing a pod",
	"should report termination message from file when pod succeeds",
	"should report termination message from log output if TerminationMessagePolicy FallbackToLogsOnError is set",
	"should report termination message if TerminationMessagePath is set as non-root user",
	"when starting a container that exits should run with the expected status",
	"[sig-node] InitContainer should invoke init containers on a RestartAlways pod",
	"[sig-node] InitContainer should invoke init containers on a RestartNever pod",
	"[sig-node] InitContainer should not start app containers and fail the pod if init containers fail on a RestartNever pod",
	"[sig-node] Probing container with readiness probe should not be ready before initial delay and never restart",
	"[sig-node] Probing container should be restarted with a /healthz http liveness probe",
	`[sig-node] Probing container should be restarted with a exec "cat /tmp/health" liveness probe`,
	"[sig-node] Probing container should be ready immediately after startupProbe succeeds",
	"[sig-storage] ConfigMap updates should be reflected in volume",
	"[sig-storage] Secrets should be consumable from pods in volume as non-root with defaultMode and fsGroup set",
	"Projected combined should project all components that make up the projection API",
	"EmptyDir volumes should support (root,0644,tmpfs)",
	"[sig-node] Pods should be submitted and removed",
}

// focusOf is the regular expression of tests whose names contain one of those.
func focusOf(names []string) string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = regexp.QuoteMeta(n)
	}
	return strings.Join(all, "|")
}
