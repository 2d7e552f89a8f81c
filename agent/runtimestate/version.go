package runtimestate

import (
	"context"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// versionLimit is how long a request of the version may take.
const versionLimit = 2 * time.Second

// version is the runtime's, which changes when the runtime is upgraded.
type version struct {
	info  *runtimeapi.VersionResponse
	asked time.Time
}

// askVersion requests the runtime's version, if it was not ready, or if the last request was a while ago.
//
// Upstream: pkg/kubelet/nodestatus/setters.go, VersionInfo (with each status of the node).
func (s *State) askVersion(ctx context.Context) {
	s.mu.Lock()
	due := s.asked && !s.up.ok || time.Since(s.version.asked) >= s.good
	s.mu.Unlock()
	if !due {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, versionLimit) // the readiness waits for the answer
	defer cancel()
	info, err := s.runtime.Version(ctx, &runtimeapi.VersionRequest{Version: "v1"})
	if err != nil {
		return // the next check requests it again
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version{info, time.Now()}
}

// Version returns the runtime's newest answer to Version; nil before it was asked. It must not be changed.
func (s *State) Version() *runtimeapi.VersionResponse {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version.info
}
