package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/ownnet"
)

func TestParseRate(t *testing.T) {
	for in, want := range map[string]int64{"0": 0, "1500": 1500, "8KiB": 8 << 10, "16MiB": 16 << 20, "1GiB": 1 << 30} {
		if got, err := parseRate(in); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", in, got, err, want)
		}
	}
	for _, bad := range []string{"", "MiB", "-1", "1.5MiB", "1MB", "99999999999GiB"} {
		if got, err := parseRate(bad); err == nil || !strings.Contains(err.Error(), "16MiB") {
			t.Errorf("%q: %d, %v, want an error with an example", bad, got, err)
		}
	}
}

func TestMain(m *testing.M) { ownnet.Main(m.Run, lab.Build) }

// The life of a lab by command line; each step twice is harmless.
func TestCommands(t *testing.T) {
	ownnet.Need(t)
	dir := filepath.Join(t.TempDir(), "lab")
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		cmd := root()
		cmd.SetOut(&out)
		cmd.SetErr(t.Output())
		cmd.SetArgs(append([]string{"--dir", dir}, args...))
		err := cmd.ExecuteContext(t.Context())
		return out.String(), err
	}
	t.Cleanup(func() { _, _ = run("down") })
	for _, step := range []struct {
		args string
		want string // in the output or the error
		fail bool
	}{
		{"status", "no lab in " + dir, true},
		{"down", "there is no lab", false},
		{"up --preload=", "the lab is up after", false},
		{"up --preload=busybox", "is up already", false},
		{"status", "up: containerd v2", false},
		{"env", "export LAB_DIR='" + dir + "'", false},
		{"exec -- printenv CONTAINER_RUNTIME_ENDPOINT", "unix://" + dir + "/containerd.sock", false},
		{"exec -- false", "exit status 1", true},
		{"limit --rate=16MiB --latency=5ms", "", false},
		{"limit --rate=fast", "--rate fast", true},
		{"up --preload=vim", "no image vim", true},
		{"down", "is gone after", false},
		{"down", "there is no lab", false},
	} {
		out, err := run(strings.Fields(step.args)...)
		if err != nil {
			out += err.Error()
		}
		if (err != nil) != step.fail || !strings.Contains(out, step.want) {
			t.Errorf("%s: %q, %v, want %q", step.args, out, err, step.want)
		}
	}
}
