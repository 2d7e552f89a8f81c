package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"strings"
	"syscall"
	"time"
)

// dialTimeout limits one check of a socket. A local connect returns at once, unless the backlog is full.
const dialTimeout = 2 * time.Second

// WellKnownRuntimes lists the sockets of the usual runtimes, in the order in which they are tried.
func WellKnownRuntimes() []string {
	return []string{
		"unix:///run/containerd/containerd.sock",
		"unix:///run/crio/crio.sock",
		"unix:///var/run/cri-dockerd.sock",
	}
}

// NoRuntimeError means that no program listens on any of the sockets.
type NoRuntimeError struct {
	// Tried has one entry for each endpoint, in order.
	Tried []TriedEndpoint
}

// A TriedEndpoint is a socket and why it cannot be used.
type TriedEndpoint struct {
	Endpoint string
	Err      error
}

// Error lists the sockets, then possible solutions.
func (e *NoRuntimeError) Error() string {
	var b strings.Builder
	b.WriteString("no container runtime found; tried")
	for _, t := range e.Tried {
		fmt.Fprintf(&b, "\n  %s: %v", t.Endpoint, t.Err)
	}
	b.WriteString("\nstart a runtime and name its socket with --container-runtime-endpoint or $" + endpointVariable + ", or")
	b.WriteString("\n  make lab-up      starts a private containerd (then: source $LAB_DIR/env)")
	b.WriteString("\n  --runtime sim    simulates one, no root needed")
	return b.String()
}

// FindRuntime returns the endpoint to use, such as unix:///path: the configured one, or the first candidate on which a program
// listens. The first call shows whether that program is a CRI server. Without a listener the error is a [*NoRuntimeError].
func FindRuntime(endpoint string, candidates []string) (string, error) {
	if endpoint != "" {
		candidates = []string{endpoint}
	}
	failed := &NoRuntimeError{}
	for _, c := range candidates {
		socket, err := socketPath(c)
		if err == nil {
			err = listens(socket)
		}
		if err == nil {
			return "unix://" + socket, nil
		}
		failed.Tried = append(failed.Tried, TriedEndpoint{c, err})
	}
	return "", failed
}

// socketPath returns the path in unix:///path; an absolute path is accepted too.
//
// Upstream: pkg/kubelet/util/util_unix.go, parseEndpoint.
func socketPath(endpoint string) (string, error) {
	socket := strings.TrimPrefix(endpoint, "unix://")
	if scheme, _, ok := strings.Cut(socket, "://"); ok {
		return "", fmt.Errorf("%q: %s is not supported; must be unix:///PATH", endpoint, scheme)
	}
	if !path.IsAbs(socket) {
		return "", fmt.Errorf("%q must be unix:///PATH with an absolute path", endpoint)
	}
	return socket, nil
}

// listens returns, in plain words, why nothing responds on a socket, or nil.
func listens(socket string) error {
	conn, err := net.DialTimeout("unix", socket, dialTimeout)
	switch {
	case err == nil:
		return conn.Close()
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such socket")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("permission denied; are you root?")
	case errors.Is(err, syscall.ECONNREFUSED) && !isSocket(socket):
		return errors.New("not a socket")
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("nothing listens on it")
	default:
		return err
	}
}

func isSocket(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&fs.ModeSocket != 0
}
