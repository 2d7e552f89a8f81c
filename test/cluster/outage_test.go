package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
)

// killProgram ends a program of this cluster's control plane by SIGKILL.
func (b *bench) killProgram(t *testing.T, name string) {
	t.Helper()
	if !b.endProgram(t, name) {
		t.Fatalf("no %s runs for %s", name, b.Dir)
	}
}

// endProgram ends a program of this cluster's control plane by SIGKILL; false if none runs.
func (b *bench) endProgram(t *testing.T, name string) bool {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, _ := os.ReadFile(f)
		args := strings.Split(string(data), "\x00")
		if filepath.Base(args[0]) != name || !strings.Contains(string(data), b.Dir+"/") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
		eventually(t, name+" to end", func() string {
			dir := filepath.Dir(f)
			stat, err := os.ReadFile(filepath.Join(dir, "stat"))
			threads, _ := os.ReadDir(filepath.Join(dir, "task"))
			if err != nil || len(threads) <= 1 && strings.Contains(string(stat), ") Z ") { // and so its ports are free
				return ""
			}
			return string(stat)
		})
		return true
	}
	return false
}

// repair starts what does not run of the control plane, and its controllers again: after an outage theirs would be caches of
// another time for a minute or more, by which they make no namespace whole and call the node's pods not ready.
func (b *bench) repair(t *testing.T) {
	t.Helper()
	for _, name := range []string{"kube-controller-manager", "kube-scheduler"} {
		b.endProgram(t, name) // one that has just begun ends by itself without an API server
	}
	c, err := lab.UpCluster(context.WithoutCancel(t.Context()), lab.ClusterConfig{Dir: b.Dir, Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	b.Cluster = c
}

// static writes a static pod's manifest, which goes when the test ends.
func (b *bench) static(t *testing.T, name, script string) string {
	t.Helper()
	path := b.nodePath("manifests", name+".yaml")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(manifest(name, script)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(path) })
	return path
}

func manifest(name, script string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":"default"},`+
		`"spec":{"terminationGracePeriodSeconds":1,"containers":[{"name":"main","image":%q,"command":["sh","-c",%q]}]}}`, name, busybox, script)
}

// identity is what tells a pod's containers from those of before.
func identity(p *v1.Pod) string {
	s := string(p.UID)
	for _, c := range p.Status.ContainerStatuses {
		s += fmt.Sprintf(" %s %d %s", c.Name, c.RestartCount, c.ContainerID)
	}
	return s
}

// TestOutage takes the API server away. Pods continue; what happened meanwhile is told after.
func TestOutage(t *testing.T) {
	b := setup(t)
	a := b.node(t)
	s := b.space(t)
	dir := t.TempDir()
	names := []string{"p0", "p1", "p2", "p3", "p4"}
	was := map[string]string{}
	for _, n := range names {
		s.create(pod(n, forever))
	}
	dies := pod("dies", "echo up; while [ ! -e /host/die ]; do sleep 0.2; done; rm /host/die; exit 4")
	dies.Spec.Volumes = []v1.Volume{{Name: "host", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: dir}}}}
	dies.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "host", MountPath: "/host"}}
	ends := pod("ends", "while [ ! -e /host/end ]; do sleep 0.2; done")
	ends.Spec.RestartPolicy = v1.RestartPolicyNever
	ends.Spec.Volumes, ends.Spec.Containers[0].VolumeMounts = dies.Spec.Volumes, dies.Spec.Containers[0].VolumeMounts
	s.create(dies, ends)
	s.ready(append(names, "dies", "ends")...)
	for _, n := range names {
		p, err := s.get(n)
		if err != nil {
			t.Fatal(err)
		}
		was[n] = identity(p)
	}

	b.killProgram(t, "kube-apiserver")
	back := false
	t.Cleanup(func() {
		if !back {
			b.repair(t)
		}
	})
	gone := time.Now()
	for _, f := range []string{"die", "end"} {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.static(t, "meanwhile", forever)
	started := func(pod string) func(*trace.Record) bool {
		return func(r *trace.Record) bool {
			p, ok := r.Event.(*trace.PodStatus)
			return ok && r.Pod.Name == pod && p.Phase == trace.PodRunning && r.At().After(gone) && (p.Restarts > 0 || pod != "dies")
		}
	}
	a.record("the restart of a container without an API server", started("dies"))
	a.record("a static pod without an API server", started("meanwhile-"+lab.NodeName))
	time.Sleep(*outage - time.Since(gone))
	tries := a.find(func(r *trace.Record) bool {
		w, ok := r.Event.(*trace.Wait)
		return ok && r.Edge == trace.EdgeBegin && w.For == trace.WaitBackoff && w.Target.Kind == trace.TargetWatch && r.At().After(gone)
	})
	if len(tries) < 3 {
		t.Errorf("%d back-offs to watch pods are told in %s", len(tries), *outage)
	}
	b.repair(t)
	back = true
	returned := time.Now()
	s.wait("dies", "restarted", func(p *v1.Pod) bool { return p.Status.ContainerStatuses[0].RestartCount == 1 && isReady(p) })
	s.wait("ends", "Succeeded", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodSucceeded })
	t.Logf("statuses are told %s after the cluster is back", time.Since(returned).Round(time.Millisecond))
	(&space{bench: b, t: t, name: "default"}).ready("meanwhile-" + lab.NodeName)
	a.ready()
	for _, n := range names {
		p := s.wait(n, "ready", isReady)
		if now := identity(p); now != was[n] {
			t.Errorf("%s was %s and is %s", n, was[n], now)
		}
	}
	s.create(pod("after", forever))
	s.ready("after")
}

// TestStartWithoutServer starts the agent while there is no API server. It runs a static pod, as a control plane needs.
func TestStartWithoutServer(t *testing.T) {
	b := setup(t)
	b.node(t).stop()
	b.killProgram(t, "kube-apiserver")
	repair := sync.OnceFunc(func() { b.repair(t) })
	t.Cleanup(repair)
	b.static(t, "boots", forever)
	a := b.start(t, lab.AgentConfig{})
	a.record("a static pod before there is an API server", func(r *trace.Record) bool {
		p, ok := r.Event.(*trace.PodStatus)
		return ok && r.Pod.Name == "boots-"+lab.NodeName && p.Phase == trace.PodRunning
	})
	repair()
	a.ready()
	(&space{bench: b, t: t, name: "default"}).ready("boots-" + lab.NodeName)
}

// TestStartWithoutCertificate is the same on a new node, which has no certificate yet: a static pod may be the way to the API server.
func TestStartWithoutCertificate(t *testing.T) {
	b := setup(t)
	b.alone(t)
	b.killProgram(t, "kube-apiserver")
	repair := sync.OnceFunc(func() { b.repair(t) })
	t.Cleanup(repair)
	b.static(t, "leads", forever)
	a := b.start(t, lab.AgentConfig{State: "bare"})
	a.record("a static pod before there is a certificate", func(r *trace.Record) bool {
		p, ok := r.Event.(*trace.PodStatus)
		return ok && r.Pod.Name == "leads-"+lab.NodeName && p.Phase == trace.PodRunning
	})
	if _, err := os.Stat(b.certificatePath("bare")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a certificate: %v", err)
	}
	repair()
	a.ready()
	(&space{bench: b, t: t, name: "default"}).ready("leads-" + lab.NodeName)
}

// TestWatchExpired lets the watch's place in the history go: pods are listed again, and none is touched.
func TestWatchExpired(t *testing.T) {
	b := setup(t)
	b.node(t)
	s := b.space(t)
	s.create(pod("stays", forever), pod("goes", forever))
	s.ready("stays", "goes")
	was, err := s.get("stays")
	if err != nil {
		t.Fatal(err)
	}
	a := b.node(t)
	// Stopped, the agent misses what happens and what is forgotten of it.
	signal(t, a.PID(), syscall.SIGSTOP)
	t.Cleanup(func() { _ = syscall.Kill(a.PID(), syscall.SIGCONT) })
	again := func() {
		b.killProgram(t, "kube-apiserver")
		b.repair(t)
	}
	again() // with the watch's connection, on which the agent would still be told
	s.delete(0, "goes")
	b.compact(t)
	again() // with its cache, which would know
	s.create(pod("comes", forever))
	signal(t, a.PID(), syscall.SIGCONT)
	a.record("a list because the watch expired", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Source)
		return ok && e.Source == trace.SourceAPI && e.Cause == trace.SourceExpired
	})
	s.ready("comes")
	now := s.wait("stays", "ready", isReady)
	if identity(now) != identity(was) {
		t.Errorf("%s is %s", identity(was), identity(now))
	}
	eventually(t, "the deleted pod's end", func() string {
		for thing := range b.things(t) {
			if strings.HasPrefix(thing, "container goes/") {
				return thing
			}
		}
		return ""
	})
}

func signal(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatal(err)
	}
}

// TestAgentKilled ends the agent by SIGKILL under 20 pods, which do not notice, and under one that is being deleted: the next agent says what
// that one waits for.
func TestAgentKilled(t *testing.T) {
	b := setup(t)
	a := b.node(t)
	s := b.space(t)
	var names []string
	for i := range 20 {
		p := pod(fmt.Sprintf("p%d", i), forever)
		names = append(names, p.Name)
		switch i % 4 {
		case 1:
			p.Spec.Containers[0].ReadinessProbe = &v1.Probe{PeriodSeconds: 1, TimeoutSeconds: 60, ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"true"}}}}
		case 2:
			p = withVolumes(p.Name, "[ -e /dir0/x ] || { touch /dir0/x; exit 1; }; "+forever)
		case 3:
			sidecar := container("side", forever)
			sidecar.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
			p.Spec.InitContainers = []v1.Container{sidecar}
		}
		s.create(p)
	}
	was, unready := map[types.UID]string{}, map[string]bool{}
	for i, n := range names {
		p := s.wait(n, "ready", func(p *v1.Pod) bool {
			return isReady(p) && (i%4 != 2 || p.Status.ContainerStatuses[0].RestartCount == 1)
		})
		was[p.UID] = identity(p)
	}
	ends := pod("ends", `trap "" TERM; while :; do sleep 1; done`)
	ends.Spec.TerminationGracePeriodSeconds = new(int64(600))
	s.create(ends)
	s.ready("ends")
	s.delete(-1, "ends")
	a.record("kill of what was deleted", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Action)
		return ok && e.Verb == trace.VerbKill && r.Pod.Name == "ends"
	})
	a.kill()
	dead := make(chan struct{})
	watcher, err := b.client.CoreV1().Pods(s.name).Watch(t.Context(), listOptions)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(dead)
		for e := range watcher.ResultChan() {
			// Only the agent writes this one; the node controller writes Ready too.
			if p, ok := e.Object.(*v1.Pod); ok && condition(p, v1.ContainersReady) != v1.ConditionTrue {
				unready[p.Name] = true
			}
		}
	}()
	a = b.node(t)
	eventually(t, "why says what the end of ends waits for", func() string {
		r, said := b.why(t, a, s.name+"/ends")
		if r == nil {
			return said
		}
		if r.Stage != cause.Ending || !r.Found || !strings.Contains(r.Cause, "container main") {
			return fmt.Sprintf("%s, found %t: %s", r.Stage, r.Found, r.Cause)
		}
		return ""
	})
	s.create(pod("after", forever))
	s.ready("after")
	time.Sleep(3 * time.Second) // in which something could go wrong: probes have run again
	watcher.Stop()
	<-dead
	for _, n := range names {
		p := s.wait(n, "ready", isReady)
		if now := identity(p); now != was[p.UID] {
			t.Errorf("%s was %s and is %s", n, was[p.UID], now)
		}
		if unready[n] {
			t.Errorf("%s was not ready for a while", n)
		}
	}
	s.delete(0, "ends")
	eventually(t, "the end of ends", func() string {
		if _, err := s.get("ends"); !apierrors.IsNotFound(err) {
			return fmt.Sprint("it is there: ", err)
		}
		return ""
	})
}
