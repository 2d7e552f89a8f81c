package causes_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/test/hungfs"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/ownnet"
	"github.com/kubeloupe/kubeloupe/trace"
)

// seen is a scenario on upstream's kubelet, and from which verbosity of its log on it is seen.
type seen struct {
	name  string
	level int
	run   func(*upstream)
}

// scenarios are those that a kubelet with the lab's configuration goes through; each begins and ends without a pod.
func scenarios() []seen {
	return []seen{
		{"KL05-image", 0, func(u *upstream) { imagesThatCannotBeHad(u.node) }},
		{"KL11-secret", 0, secretIsMissing},
		{"KL21-init", 3, func(u *upstream) { initContainerTakesLong(u.node, "4") }},
		{"KL27-crash", 0, func(u *upstream) { containerKeepsEnding(u.node, "") }},
		{"KL07-plugin", 0, cniPluginFails},
		{"KL06-network", 0, networkIsSlow},
		{"KL09-fsgroup", 0, ownershipTakesLong},
		{"KL10-volume", 0, directoryIsMissing},
		{"KL17-stubborn", 2, containerDoesNotEnd},
		{"KL14-sandbox", 2, sandboxIsStopped},
		{"KL07-network", 0, networkGoes},
		{"KL22-preempted", 2, podMakesRoom},
		{"KL18-file", 0, fileOfNobody},
		{"KL18-mount", 3, mountOfNobody},
		{"KL13-cgroup", 2, cgroupsAreSlow},
		{"KL17-finalizer", 3, func(u *upstream) { finalizer(u.t, u.joined) }},
		{"KL10-attach", 0, func(u *upstream) { attachment(u.t, u.joined) }},
	}
}

// hasty are scenarios for a kubelet that waits for the runtime for four seconds: usual are two minutes.
func hasty() []seen {
	return []seen{
		{"KL08-reserved", 0, sandboxComesTooLate},
		{"KL15-stopped", 0, runtimeStops},
	}
}

// serial are scenarios for a kubelet that pulls one image at a time, as is the default.
func serial() []seen {
	return []seen{{"KL01-pulls", 3, pullsTakeTurns}}
}

// throttled are scenarios for a kubelet that may send one request per second to the API server.
func throttled() []seen {
	return []seen{{"KL12-objects", 2, requestsWait}}
}

// upstream is a node of a cluster, whose agent is upstream's kubelet.
type upstream struct {
	*joined
	bench *bench
}

// TestUpstream lets upstream's kubelet go through what the other tests have kubeloupe's agent go through, and asks kubeloupe why, from the
// logs: make attach-causes. KUBELOUPE_UPSTREAM has the verbosities, as 2,4; the logs go to the directory KUBELOUPE_CAUSES_TO.
func TestUpstream(t *testing.T) {
	levels := os.Getenv("KUBELOUPE_UPSTREAM")
	if levels == "" {
		t.Skip("it takes long: make attach-causes")
	}
	ownnet.Need(t)
	program := filepath.Join(t.TempDir(), "kubeloupe")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/kubeloupe").CombinedOutput(); err != nil {
		t.Fatalf("build kubeloupe: %v: %s", err, out)
	}
	up, _ := control(t)
	client, err := up.Client()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{Lab: up.Lab}
	if err := b.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.conn.Close() })
	for text := range strings.SplitSeq(levels, ",") {
		level, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("KUBELOUPE_UPSTREAM=%s: want verbosities, as 2,4", levels)
		}
		o := &outside{cluster: up, client: client, program: program, level: level, made: map[string]bool{}}
		u := &upstream{&joined{node: &node{outside: o}, Cluster: up, client: client}, b}
		for _, k := range []struct {
			name   string
			change func(map[string]any)
			all    []seen
		}{
			{"", nil, scenarios()},
			{"-hasty", func(c map[string]any) { c["runtimeRequestTimeout"] = "4s" }, hasty()},
			{"-serial", func(c map[string]any) { c["serializeImagePulls"] = true }, serial()},
			{"-throttled", func(c map[string]any) { c["kubeAPIQPS"], c["kubeAPIBurst"] = 1, 1 }, throttled()},
		} {
			cfg := lab.AgentConfig{State: fmt.Sprintf("v%d%s", level, k.name)}
			if k.change != nil {
				if cfg.KubeletConfig, err = up.WriteKubeletConfig(cfg.State, k.change); err != nil {
					t.Fatal(err)
				}
			}
			t.Run(fmt.Sprintf("V%d%s", level, k.name), func(t *testing.T) { u.session(t, cfg, k.all) })
		}
	}
}

// session runs scenarios on a kubelet of their own.
func (u *upstream) session(t *testing.T, cfg lab.AgentConfig, all []seen) {
	level := u.outside.level
	all = slices.DeleteFunc(all, func(s seen) bool {
		return level < s.level || !strings.Contains(s.name, os.Getenv("KUBELOUPE_UPSTREAM_ONLY"))
	})
	if len(all) == 0 {
		return
	}
	cfg.Kind, cfg.Log, cfg.Args = lab.Upstream, t.Output(), []string{fmt.Sprintf("--v=%d", level)}
	var err error
	if u.outside.agent, err = u.StartAgent(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := u.outside.agent.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := u.outside.agent.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	u.root = u.outside.agent.RootDir
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			u.t = t
			u.outside.begin(t)
			t.Cleanup(func() { u.outside.clear(t) })
			t.Cleanup(func() { u.outside.keep(t, s.name) })
			s.run(u)
			u.outside.merged(t)
		})
	}
}

// networkIsSlow: a plugin takes its time for one pod of two. That is in containerd's log alone, and the kubelet's may not say it.
func networkIsSlow(u *upstream) {
	u.set(u.bench.pod("near", lab.ImageBusybox))
	u.reached("near", "started")
	u.bench.plugin(u.t, "3")
	u.t.Cleanup(func() { u.bench.plugin(u.t, "0") })
	u.set(u.bench.pod("near", lab.ImageBusybox), u.bench.pod("web", lab.ImageBusybox))
	u.reached("web", "started")
	u.bench.plugin(u.t, "0")
	for pod, want := range map[string]int{"web": 1, "near": 0} {
		for _, from := range [][]*part{u.outside.logs, u.outside.logs[1:], u.outside.logs[:1]} {
			if len(from) == 1 && from[0] == u.outside.logs[0] {
				want = 0
			}
			all := u.outside.why(u.t, pod, from).Findings
			found := slices.DeleteFunc(slices.Clone(all), func(f cause.Finding) bool { return f.ID != "KL06" })
			if len(found) != want || want == 1 && (found[0].Confidence != cause.Likely || found[0].Cost < 2*time.Second) {
				u.t.Errorf("KL06 of %s, from %d logs: %+v", pod, len(from), all)
			}
		}
	}
	u.silent("near", "KL07", "KL15")
	u.silent("web", "KL07", "KL15")
}

// ownershipTakesLong: the file system of one pod's volume of two takes long to change an owner.
func ownershipTakesLong(u *upstream) {
	slow, quick := u.t.TempDir(), u.t.TempDir()
	f, err := hungfs.Mount(slow)
	if err != nil {
		u.t.Skipf("no such file system is possible here: %v", err)
	}
	u.t.Cleanup(func() { _ = f.Close() })
	f.SlowChanges(20 * time.Second) // of the owner, and of the mode: together longer than the kubelet is silent for
	u.set(u.owned("web", slow), u.owned("near", quick))
	u.until("the change of an owner", func(r *trace.Record) bool {
		_, ok := r.Event.(*trace.VolumeProgress)
		return ok && r.Pod.Name == "web"
	})
	if f := u.speaks("web", "KL09", "data-web"); !f.Current {
		u.t.Errorf("%+v", f)
	}
	u.reached("web", "started")
	u.reached("near", "started")
	if f := u.speaks("web", "KL09", "data-web"); f.Current || f.Cost < 30*time.Second {
		u.t.Errorf("%+v", f)
	}
	u.silent("near", "KL09", "KL10")
	u.set()
	u.reached("web", "gone") // while the file system still answers
	u.reached("near", "gone")
}

// owned is a pod with a volume for which the group of the pod is set, in a directory of the node.
func (u *upstream) owned(name, dir string) *v1.Pod {
	u.t.Helper()
	claim := "data-" + name
	size := v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	volumes, claims := u.client.CoreV1().PersistentVolumes(), u.client.CoreV1().PersistentVolumeClaims("default")
	_, err := volumes.Create(u.t.Context(), &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: claim},
		Spec: v1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimRetain,
			ClaimRef:               &v1.ObjectReference{Namespace: "default", Name: claim},
			PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: dir}},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{lab.NodeName}}},
			}}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() { _ = volumes.Delete(context.Background(), claim, metav1.DeleteOptions{}) })
	_, err = claims.Create(u.t.Context(), &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: claim},
		Spec:       v1.PersistentVolumeClaimSpec{AccessModes: modes, VolumeName: claim, StorageClassName: new(""), Resources: v1.VolumeResourceRequirements{Requests: size}},
	}, metav1.CreateOptions{})
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() { _ = claims.Delete(context.Background(), claim, metav1.DeleteOptions{}) })
	eventually(u.t, "the claim to be bound", func() (bool, error) {
		c, err := claims.Get(u.t.Context(), claim, metav1.GetOptions{})
		return err == nil && c.Status.Phase == v1.ClaimBound, err
	})
	p := podOf(name)
	p.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: new(int64(1234))}
	p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data"}}
	return p
}

// secretIsMissing: one pod of two mounts a Secret that comes late.
func secretIsMissing(u *upstream) {
	secrets := u.client.CoreV1().Secrets("default")
	create := func(name string) {
		u.t.Helper()
		_, err := secrets.Create(u.t.Context(), &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"a": "b"}}, metav1.CreateOptions{})
		if err != nil {
			u.t.Fatal(err)
		}
		u.t.Cleanup(func() { _ = secrets.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	}
	create("there")
	u.set(mounts("web", "late"), mounts("near", "there"))
	u.waits("web", trace.WaitBackoff)
	u.lasts(100 * time.Millisecond)
	if f := u.speaks("web", "KL11", `secret "late" not found`); !f.Current {
		u.t.Errorf("%+v", f)
	}
	create("late")
	u.reached("web", "started")
	if f := u.speaks("web", "KL11", `secret "late" not found`); f.Current {
		u.t.Errorf("%+v", f)
	}
	u.reached("near", "started")
	u.silent("near", append(starts(), "KL10", "KL11")...)
}

// mounts is a pod with a Secret as a volume.
func mounts(name, secret string) *v1.Pod {
	p := podOf(name)
	p.Spec.Volumes = []v1.Volume{{Name: "keys", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: secret}}}}
	p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "keys", MountPath: "/keys"}}
	return p
}

// cniPluginFails: besides one pod that starts before the plugin fails.
func cniPluginFails(u *upstream) {
	u.set(u.bench.pod("before", lab.ImageBusybox))
	u.reached("before", "started")
	pluginFails(u.bench, u.node)
	u.speaks("web", "KL07", "no address is left")
	u.silent("web", "KL14", "KL08")
}

// directoryIsMissing: one pod of two mounts a directory of the node that is not there.
func directoryIsMissing(u *upstream) {
	dir := u.t.TempDir()
	late := filepath.Join(dir, "late")
	u.set(shares("web", late), shares("near", dir))
	u.waits("web", trace.WaitBackoff)
	u.lasts(100 * time.Millisecond)
	if f := u.speaks("web", "KL10", "volume data"); !f.Current {
		u.t.Errorf("%+v", f)
	}
	if err := os.Mkdir(late, 0o755); err != nil {
		u.t.Fatal(err)
	}
	u.reached("web", "started")
	u.speaks("web", "KL10", "volume data")
	u.reached("near", "started")
	u.silent("near", append(starts(), "KL10", "KL11")...)
}

// shares is a pod with a directory of the node.
func shares(name, dir string) *v1.Pod {
	p := podOf(name)
	p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: dir, Type: new(v1.HostPathDirectory)}}}}
	p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data"}}
	return p
}

// containerDoesNotEnd: one pod of two takes all of its grace period.
func containerDoesNotEnd(u *upstream) {
	stubborn := podOf("web", "sh", "-c", "trap '' TERM; while true; do sleep 1; done")
	stubborn.Spec.TerminationGracePeriodSeconds = new(int64(6))
	u.set(stubborn, podOf("near"))
	u.reached("web", "started")
	u.reached("near", "started")
	u.set()
	u.reached("near", "gone")
	u.reached("web", "gone")
	u.speaks("web", "KL17", "container app, which did not exit in its grace period")
	u.silent("near", "KL17")
}

// sandboxIsStopped: somebody stops one pod's sandbox of two, twice.
func sandboxIsStopped(u *upstream) {
	u.set(podOf("web"), podOf("near"))
	u.reached("web", "started")
	u.reached("near", "started")
	for n := range 2 {
		u.stopSandbox("web")
		again := 0
		u.until("the next sandbox", func(r *trace.Record) bool {
			if a, ok := r.Event.(*trace.Action); ok && a.Verb == trace.VerbSandbox && a.Replaces != "" && r.Edge != trace.EdgeBegin && a.Err == "" && r.Pod.Name == "web" {
				again++
			}
			return again > n
		})
		time.Sleep(3 * time.Second) // so that the kubelet has seen it run
	}
	u.speaks("web", "KL14", "the sandbox was replaced twice")
	u.silent("near", "KL14")
}

// stopSandbox stops a pod's sandbox behind the kubelet's back.
func (u *upstream) stopSandbox(pod string) {
	u.t.Helper()
	list, err := u.bench.runtime.ListPodSandbox(u.t.Context(), &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		u.t.Fatal(err)
	}
	for _, s := range list.Items {
		if s.Metadata.Name != pod || s.State != runtimeapi.PodSandboxState_SANDBOX_READY {
			continue
		}
		if _, err := u.bench.runtime.StopPodSandbox(u.t.Context(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: s.Id}); err != nil {
			u.t.Fatal(err)
		}
	}
}

// networkGoes: the network's configuration goes while nothing happens, and comes again.
func networkGoes(u *upstream) {
	u.set(podOf("before"))
	u.reached("before", "started")
	conf := filepath.Join(u.CNIConfDir, "10-kubeloupe.conflist")
	text, err := os.ReadFile(conf)
	if err != nil {
		u.t.Fatal(err)
	}
	restore := func() {
		if err := os.WriteFile(conf, text, 0o600); err != nil {
			u.t.Error(err)
		}
	}
	u.t.Cleanup(restore)
	if err := os.Remove(conf); err != nil {
		u.t.Fatal(err)
	}
	u.until("the kubelet to notice", func(r *trace.Record) bool {
		l, ok := r.Event.(*trace.Log)
		return ok && strings.Contains(l.Message, "network not ready")
	})
	u.set(podOf("before"), podOf("web"))
	u.waits("web", trace.WaitRuntime)
	u.speaks("web", "KL07", "the runtime has no pod network")
	restore()
	u.reached("web", "started")
	u.speaks("web", "KL07", "the runtime has no pod network")
	u.silent("before", "KL07")
}

// podMakesRoom: a critical pod needs what one of two others has.
func podMakesRoom(u *upstream) {
	node, err := u.client.CoreV1().Nodes().Get(u.t.Context(), lab.NodeName, metav1.GetOptions{})
	if err != nil {
		u.t.Fatal(err)
	}
	most := *resource.NewMilliQuantity(node.Status.Allocatable.Cpu().MilliValue()*3/4, resource.DecimalSI)
	asks := func(p *v1.Pod) *v1.Pod {
		p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: most}
		return p
	}
	u.set(asks(podOf("web")), podOf("near"))
	u.reached("web", "started")
	u.reached("near", "started")
	critical := asks(podOf("critical"))
	critical.Spec.PriorityClassName = "system-node-critical"
	u.place(asks(podOf("web")), podOf("near"), critical)
	u.reached("critical", "started")
	u.speaks("web", "KL22", "preemption")
	u.silent("near", "KL22")
	u.silent("critical", "KL22")
}

// fileOfNobody: there is a file in a volume of a pod that nobody knows: the kubelet removes no data.
func fileOfNobody(u *upstream) {
	const uid = "5a1d4c1e-0000-4000-8000-0000000cafe1"
	dir := filepath.Join(u.outside.agent.RootDir, "pods", uid, "volumes", "kubernetes.io~local-volume", "data")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() { _ = os.RemoveAll(filepath.Join(u.outside.agent.RootDir, "pods", uid)) })
	write(u.t, filepath.Join(dir, "file"), 0o600, "data")
	u.orphaned(uid)
}

// mountOfNobody: there is a mount in the directory of a pod that nobody knows, and somebody uses it.
func mountOfNobody(u *upstream) {
	const uid = "5a1d4c1e-0000-4000-8000-0000000cafe2"
	dir := filepath.Join(u.outside.agent.RootDir, "pods", uid, "volumes", "kubernetes.io~empty-dir", "cache")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		u.t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		u.t.Skipf("a mount is not possible here: %v", err)
	}
	u.t.Cleanup(func() {
		_ = unix.Unmount(dir, unix.MNT_DETACH)
		_ = os.RemoveAll(filepath.Join(u.outside.agent.RootDir, "pods", uid))
	})
	file, err := os.Create(filepath.Join(dir, "open"))
	if err != nil {
		u.t.Fatal(err)
	}
	defer file.Close()
	u.orphaned(uid)
}

// orphaned waits for the verdict on a pod's directory.
func (u *upstream) orphaned(uid string) {
	u.t.Helper()
	u.set(podOf("near"))
	u.reached("near", "started")
	u.until("the verdict", func(r *trace.Record) bool {
		d, ok := r.Event.(*trace.Decision)
		return ok && d.By == trace.ByOrphans && d.Verdict == trace.VerdictKeep
	})
	u.speaks("_/"+uid, "KL18", "its directory is left on the node")
	u.silent("near", "KL18")
}

// sandboxComesTooLate: the network takes longer than the kubelet waits.
func sandboxComesTooLate(u *upstream) {
	u.set(u.bench.pod("before", lab.ImageBusybox))
	u.reached("before", "started")
	u.bench.plugin(u.t, "25")
	u.t.Cleanup(func() { u.bench.plugin(u.t, "0") })
	u.set(u.bench.pod("before", lab.ImageBusybox), u.bench.pod("web", lab.ImageBusybox))
	u.until("the refusal", func(r *trace.Record) bool {
		k, ok := r.Event.(*trace.CRICall)
		return ok && k.Class == trace.FailNameReserved && r.Pod.Name == "web"
	})
	u.bench.plugin(u.t, "0")
	u.speaks("web", "KL08", "the runtime refused its name")
	u.silent("before", "KL08", "KL14", "KL15")
}

// runtimeStops: containerd is stopped, as by a debugger, while a pod starts.
func runtimeStops(u *upstream) {
	u.set(podOf("before"))
	u.reached("before", "started")
	u.bench.plugin(u.t, "2")
	u.t.Cleanup(func() { u.bench.plugin(u.t, "0") })
	u.set(podOf("before"), podOf("web"))
	u.reached("web", "seen")
	pid := u.ContainerdPID()
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		u.t.Fatal(err)
	}
	resume := func() { _ = unix.Kill(pid, unix.SIGCONT) }
	u.t.Cleanup(resume)
	time.Sleep(14 * time.Second) // the condition is that it takes time
	resume()
	u.bench.plugin(u.t, "0")
	u.reached("web", "started")
	u.speaks("web", "KL15", "the container runtime did not answer")
	u.silent("before", "KL15")
}

// pullsTakeTurns: a small image is wanted while a large one comes slowly.
func pullsTakeTurns(u *upstream) {
	u.bench.forget(u.t, lab.Image60M)
	u.bench.forget(u.t, lab.ImageHTTP)
	if err := u.SetLimits(u.t.Context(), lab.Limits{Rate: 20 << 20}); err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() { _ = u.SetLimits(context.Background(), lab.Limits{}) })
	first := u.bench.pod("first", lab.Image60M)
	u.set(first)
	u.until("a pull", func(r *trace.Record) bool { _, ok := r.Event.(*trace.ImagePull); return ok })
	u.set(first, u.bench.pod("second", lab.ImageHTTP), u.bench.pod("near", lab.ImageBusybox))
	u.reached("second", "started")
	u.speaks("second", "KL01", "default/first")
	u.reached("near", "started")
	u.reached("first", "started")
	u.silent("first", "KL01")
	u.silent("near", "KL01")
}
