package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/trace"
)

// limited is a pod whose cgroup has a limit of 32 MiB. It crashes once when the file go is there.
const limited = `
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: $BUSYBOX
    command: [sh, -c, "while ! rm /host/go; do sleep 0.1; done; exit 1"]
    resources: {limits: {memory: 32Mi}, requests: {memory: 16Mi}}
    volumeMounts: [{name: host, mountPath: /host}]
  volumes: [{name: host, hostPath: {path: $DIR}}]
`

const limit = "33554432" // of a limited pod

// TestCgroupsGone removes tiers, changes a limit and has the cgroup of a pod not be made, while the agent runs: each pod
// that starts then has its limits, and none starts before.
func TestCgroupsGone(t *testing.T) {
	n := newNode(t)
	hierarchies, err := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
	if err != nil || len(hierarchies) == 0 {
		t.Skip("this test moves cgroups of v1: ", err)
	}
	n.config = restartsFast
	a := n.start()
	for _, h := range hierarchies {
		for _, tier := range []string{"besteffort", "burstable", ""} {
			if err := os.Remove(filepath.Join(filepath.Dir(h), n.cgroup, "kubepods", tier)); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	}
	n.put("one.yaml", strings.Replace(limited, "NAME", "one", 1))
	a.ready("one")
	of := func(pod string) string { return "kubepods/burstable/pod" + n.sandboxes(pod)[0].Labels[labelUID] }
	n.expectLimit(of("one"))
	if got := n.cgroupFile("cpu", "kubepods/besteffort", "cpu.shares"); got != "2" {
		t.Errorf("cpu.shares of tier besteffort is %s, want 2", got)
	}

	// Somebody gives the pod another limit.
	file := filepath.Join("/sys/fs/cgroup/memory", n.cgroup, of("one"), "memory.limit_in_bytes")
	if err := os.WriteFile(file, []byte("67108864"), 0); err != nil {
		t.Fatal(err)
	}
	a.mark()
	if err := os.WriteFile(filepath.Join(n.scratch, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a.status("one", "to have started again", func(s trace.PodStatus) bool { return s.Restarts == 1 && s.Ready == 1 })
	n.expectLimit(of("one"))

	// No cgroup can be made in the first hierarchy: the step fails while the volumes succeed.
	first := filepath.Join(filepath.Dir(hierarchies[0]), n.cgroup, "kubepods/burstable")
	if err := unix.Mount("kl-e2e", first, "tmpfs", unix.MS_RDONLY, "size=64k"); err != nil {
		t.Fatal(err)
	}
	unmount := func() {
		if err := unix.Unmount(first, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}
	defer func() {
		if unmount != nil {
			unmount()
		}
	}()
	a.mark()
	n.put("two.yaml", strings.Replace(limited, "NAME", "two", 1))
	for range 2 {
		a.wait("the cgroup step to fail", func(r *trace.Record) bool {
			e, ok := r.Event.(*trace.Action)
			return ok && r.Edge == trace.EdgeEnd && e.Verb == trace.VerbCgroup && e.Err != ""
		})
		if early := a.find(action("sandbox", "", trace.EdgeBegin)); len(early) > 0 {
			t.Fatal("the sandbox is made without the pod's cgroup")
		}
		a.mark()
	}
	unmount()
	unmount = nil
	a.ready("two")
	n.expectLimit(of("two"))
}

// expectLimit reads the limit of a limited pod's cgroup.
func (n *node) expectLimit(cgroup string) {
	n.t.Helper()
	if got := n.cgroupFile("memory", cgroup, "memory.limit_in_bytes"); got != limit {
		n.t.Errorf("memory.limit_in_bytes of %s is %s, want %s", cgroup, got, limit)
	}
}
