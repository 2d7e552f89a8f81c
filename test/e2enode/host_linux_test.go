package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/ownnet"
)

// TestMain does what main does in the namespaces, with a look around in the place of the tests.
func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(stageEnv) {
	case stageInit:
		err = initHost()
	case stageTests:
		err = json.NewEncoder(os.Stdout).Encode(lookAround())
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// seen is what a process in the namespaces sees.
type seen struct {
	Host, Memory string
	Pids         int
	Devices      []string
	Mine, Hidden bool
}

func lookAround() seen {
	var s seen
	s.Host, _ = os.Hostname()
	cgroups, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(cgroups)) {
		if _, at, ok := strings.Cut(line, ":memory:"); ok {
			s.Memory = strings.TrimSpace(at)
		}
	}
	pids, _ := filepath.Glob("/proc/[0-9]*")
	s.Pids = len(pids)
	devices, _ := net.Interfaces()
	for _, d := range devices {
		s.Devices = append(s.Devices, d.Name)
	}
	s.Mine = os.WriteFile("/var/lib/kubelet/mine", nil, 0o600) == nil && os.WriteFile("/sys/fs/cgroup/memory/cgroup.procs", []byte("0"), 0o600) == nil
	_, err := exec.LookPath("true")
	s.Hidden = errors.Is(err, exec.ErrNotFound)
	return s
}

// A process in the namespaces sees neither the host's processes, devices and cgroups nor hidden programs, and writes below the run's
// directory. Nothing is left.
func TestNamespaces(t *testing.T) {
	ownnet.Need(t)
	trees, err := cgroupTrees()
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	tools := programsOf(os.Getenv("PATH"), "true")
	if len(tools) == 0 {
		t.Fatal("no program true")
	}
	tool := tools[0]
	if err := furnish(options{agent: lab.Upstream, dir: dir}, lab.NodeTests{Tests: tool, Ginkgo: tool, Kubelet: tool}); err != nil {
		t.Fatal(err)
	}
	p := plan{Dir: dir, Cache: t.TempDir(), Results: t.TempDir(), Cgroup: cgroupOf(dir), Trees: trees, Hidden: tools}
	if err := createCgroups(p); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = errors.Join(spawnInit(t.Context(), p, &out), removeCgroups(p))
	if err != nil {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	var got seen
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, out.Bytes())
	}
	want := seen{Host: hostNode, Memory: "/", Pids: 2, Devices: []string{"lo", "away", "host0"}, Mine: true, Hidden: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(dir, "var/lib/kubelet/mine")); err != nil {
		t.Error(err)
	}
	for _, tr := range trees {
		if _, err := os.Stat(filepath.Join(tr.Path, p.Cgroup)); err == nil {
			t.Errorf("%s is left", filepath.Join(tr.Path, p.Cgroup))
		}
	}
	if _, err := exec.LookPath(tool); err != nil {
		t.Errorf("the program is hidden on the host: %v", err)
	}
}
