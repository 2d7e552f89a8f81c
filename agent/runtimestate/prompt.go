package runtimestate

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubeloupe/kubeloupe/trace"
)

// SandboxFailed requests an immediate check of the runtime's state if a sandbox failed because of its network or an unavailable
// runtime. Otherwise, a broken network would be noticed up to half a minute later. It does not wait.
func (s *State) SandboxFailed(err error) {
	if ofNode(err) {
		s.Prompt()
	}
}

// ofNode reports whether an error may affect more than one pod's sandbox: a network error of containerd or CRI-O, or an
// unavailable runtime.
func ofNode(err error) bool {
	return err != nil && (status.Code(err) == codes.Unavailable || trace.Classify(err.Error()).Of(trace.FailNetwork))
}

// Follow calls f now and after each change, until ctx ends, and returns nil then.
func (s *State) Follow(ctx context.Context, f func()) error {
	for {
		changed := s.Changed()
		f()
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// RuntimeError returns why the runtime cannot run pods, in upstream's words; nil if it can.
func (s *State) RuntimeError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.up.err()
}

// NetworkError returns why the pod network is not ready, in upstream's words; nil if it is.
func (s *State) NetworkError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.network.err()
}
