package metrics

import (
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Endpoints are the paths of the authenticated port that exist only with a setting. Upstream's label path has only paths that exist.
type Endpoints struct {
	// Debugging is enableDebuggingHandlers. The others need it, too.
	Debugging bool
	// Allocated, Checkpoint, Flagz and Statusz are the feature gates of these paths.
	Allocated, Checkpoint, Flagz, Statusz bool
}

// Serves says which endpoints there are; all by default. Call it before the first record.
func (s *Sink) Serves(e Endpoints) { s.inflight.endpoints = e }

func allEndpoints() Endpoints { return Endpoints{true, true, true, true, true} }

// of returns the endpoints of a server: the read-only port has no others than those of an authenticated port without Debugging.
func (e Endpoints) of(server trace.ServerName) Endpoints {
	if server == trace.ServerReadOnly {
		return Endpoints{}
	}
	return e
}

// label returns the first part of a path that exists, "other" for all others, and whether requests for it may be long-running; upstream's does
// not include portForward.
//
// Upstream: pkg/kubelet/server/server.go, getMetricBucket, getURLRootPath, isLongRunningRequest.
func (e Endpoints) label(path string) (root string, long bool) {
	root, below, deep := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if root == "metrics" && deep {
		below, _, _ = strings.Cut(below, "/")
		root += "/" + below
	}
	if !e.have(root) {
		return "other", false
	}
	return root, root == "exec" || root == "attach" || root == "debug"
}

// have reports whether there is an endpoint. Without Debugging, some say that they are disabled; upstream names one of these pprof.
//
// Upstream: InstallAuthNotRequiredHandlers, InstallAuthRequiredHandlers, InstallDebuggingDisabledHandlers.
func (e Endpoints) have(root string) bool {
	switch root {
	case "healthz", "pods", "stats", "metrics", "metrics/cadvisor", "metrics/probes", "metrics/resource",
		"run", "exec", "attach", "portForward", "containerLogs", "runningpods", "logs":
		return true
	case "pprof":
		return !e.Debugging
	case "debug", "configz":
		return e.Debugging
	case "allocatedPods":
		return e.Debugging && e.Allocated
	case "checkpoint":
		return e.Debugging && e.Checkpoint
	case "flagz":
		return e.Debugging && e.Flagz
	case "statusz":
		return e.Debugging && e.Statusz
	}
	return false
}
