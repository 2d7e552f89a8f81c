package config

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// listen serves a unix socket during the test and returns its path.
func listen(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sock") // Short: a socket's path is limited to about 100 bytes.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return path
}

func TestFindRuntime(t *testing.T) {
	socket := listen(t)
	stale := filepath.Join(filepath.Dir(socket), "stale")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()

	for _, c := range []struct {
		name, endpoint string
		candidates     []string
		want           string   // The endpoint, or
		tried          []string // text in the error for each socket
	}{
		{"configured", "unix://" + socket, []string{"unix:///none"}, "unix://" + socket, nil},
		{"configured without a scheme", socket, nil, "unix://" + socket, nil},
		{"first that answers", "", []string{"unix:///none", "unix://" + socket, "unix://" + stale}, "unix://" + socket, nil},
		{"only the configured one is tried", "unix:///none", []string{"unix://" + socket}, "", []string{"unix:///none: no such socket"}},
		{"nothing", "", []string{"unix:///none", "unix://" + stale}, "", []string{"unix:///none: no such socket", "stale: nothing listens on it"}},
		{"not a socket address", "tcp://localhost:1", nil, "", []string{"tcp is not supported; must be unix:///PATH"}},
		{"relative", "run/x.sock", nil, "", []string{"with an absolute path"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := FindRuntime(c.endpoint, c.candidates)
			if got != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
			if c.want != "" {
				return
			}
			none, ok := errors.AsType[*NoRuntimeError](err)
			if !ok || len(none.Tried) != len(c.tried) {
				t.Fatalf("error: %v", err)
			}
			for _, want := range append(c.tried, "make lab-up", "--runtime sim") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q:\n%v", want, err)
				}
			}
		})
	}
}
