package causes_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
)

// limitedTo gives the container of a pod a request and a limit of CPU.
func limitedTo(p *v1.Pod, request, limit string) *v1.Pod {
	r := &p.Spec.Containers[0].Resources
	r.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(request)}
	if limit != "" {
		r.Limits = v1.ResourceList{v1.ResourceCPU: resource.MustParse(limit)}
	}
	return p
}

// TestContainerdSlowCgroup: writing the weight of the tier that a pod comes into takes a while. The kernel's own file is behind a pipe then.
func TestContainerdSlowCgroup(t *testing.T) {
	b := containerd(t)
	n := b.run(t)
	quick := limitedTo(b.pod("quick", lab.ImageBusybox), "10m", "")
	n.set(quick)
	n.reached("quick", "ready")
	n.quickCgroups("quick")

	tier := filepath.Join(b.CgroupRoot, "testcontainerdslowcgroup", "kubepods", "burstable")
	files, err := filepath.Glob(filepath.Join("/sys/fs/cgroup/*", tier, "cpu.shares"))
	if v2 := filepath.Join("/sys/fs/cgroup", tier, "cpu.weight"); len(files) == 0 {
		files, err = filepath.Glob(v2)
	}
	if len(files) != 1 {
		t.Fatalf("the tier's weight is in %q (%v)", files, err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	slowFile(t, n.bus, pipe, 400*time.Millisecond)
	if err := unix.Mount(pipe, files[0], "", unix.MS_BIND, ""); err != nil {
		t.Skipf("a mount over a cgroup's file is not possible here: %v", err)
	}
	release := func() { _ = unix.Unmount(files[0], unix.MNT_DETACH) }
	t.Cleanup(release)
	n.set(quick, limitedTo(b.pod("web", lab.ImageBusybox), "20m", ""))
	n.reached("web", "ready")
	release()
	// A pipe does not give back what was written to it, so the agent may find the tier's weight changed and write it once more, with all
	// tiers; and either pod may be the one that writes the new weight. So the operation that took longest is an update or an ensure.
	f := n.speaks("web", "KL13", "most of it the ")
	if f.Cost < 200*time.Millisecond || !named(f, "of cgroup "+filepath.Dir(tier)) {
		t.Errorf("%+v", f)
	}
}

// TestContainerdOwnLimit: a program computes, and its container has a fiftieth of a processor, also for its probe.
func TestContainerdOwnLimit(t *testing.T) {
	b := containerd(t)
	n := b.run(t)
	p := limitedTo(b.pod("web", lab.ImageBusybox), "20m", "20m")
	p.Spec.Containers[0].Command = []string{"sh", "-c", "trap 'exit 0' TERM; while ! [ -e /stop ]; do :; done; sleep infinity & wait"}
	p.Spec.Containers[0].StartupProbe = &v1.Probe{
		ProbeHandler:  v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"sh", "-c", "i=0; while [ $i -lt 300 ]; do ls /bin >/dev/null; i=$((i+1)); done"}}},
		PeriodSeconds: 1, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 2,
	}
	n.set(p)
	n.until("the startup probe's verdict", func(r *trace.Record) bool {
		a, ok := r.Event.(*trace.ProbeAttempt)
		return ok && r.Pod.Name == "web" && a.State == trace.ProbeDenies
	})
	f := n.speaks("web", "KL20", "the startup probe of app ran into its timeout")
	if !strings.Contains(f.Sentence, "while the container's own CPU limit held it back") || !named(f, "the CPU limit was exhausted in") {
		t.Errorf("%+v", f)
	}
	n.claimsLess("web", "KL15", time.Second) // what it might claim is the probe's timeout
	n.spans("web", sandboxSpan, 1)
	if took := n.spans("web", networkSpan, 1); took < 250*time.Millisecond {
		n.silent("web", "KL06")
	}
}
