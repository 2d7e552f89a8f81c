package vmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	vmbench "github.com/kubeloupe/kubeloupe/test/vm/bench"
	"github.com/kubeloupe/kubeloupe/test/vm/node"
)

const (
	// mount is where the node has its cgroups.
	mount = "/sys/fs/cgroup"
	// pidOf prints the process that systemd has for kubeloupe.
	pidOf = "systemctl show -p MainPID --value kubeloupe"
)

// agent has a unit make the node, and waits until the node is ready by what it said.
func (b *bench) agent(t *testing.T, a node.Agent) {
	t.Helper()
	if out, err := b.VM.Run(t.Context(), "systemctl is-active "+string(a)); err == nil && out == "active" {
		return
	}
	t.Logf("%s starts", a)
	b.Run(t, "systemctl start "+string(a))
	b.made(t, a)
}

// made waits until an agent has made the node ready. Each has its own version.
func (b *bench) made(t *testing.T, a node.Agent) {
	t.Helper()
	vmbench.Eventually(t, "the node of "+string(a), func() string {
		out, err := b.Kubectl(t.Context(), "get", "node", node.Name, "-o",
			`jsonpath={.status.nodeInfo.kubeletVersion} {.status.conditions[?(@.type=="Ready")].status}`)
		version, ready, _ := strings.Cut(out, " ")
		if err != nil || strings.TrimSpace(ready) != "True" || strings.Contains(version, "kubeloupe") != (a == node.Kubeloupe) {
			return fmt.Sprint(out, err)
		}
		return ""
	})
}

// restarted waits until systemd has started kubeloupe again, with another process than before, and the node is ready.
func (b *bench) restarted(t *testing.T, before string) {
	t.Helper()
	vmbench.Eventually(t, "kubeloupe starts again", func() string {
		out, err := b.VM.Run(t.Context(), "systemctl is-active kubeloupe; "+pidOf)
		state, pid, _ := strings.Cut(out, "\n")
		if state != "active" || pid == before || pid == "0" {
			return fmt.Sprintf("%q, %v; before: %s", out, err, before)
		}
		return ""
	})
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// pod returns a pod as the API server has it.
func (b *bench) pod(t *testing.T, name string) *v1.Pod {
	t.Helper()
	out, err := b.Kubectl(t.Context(), "get", "pod", name, "-o", "json")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var p v1.Pod
	if err := json.Unmarshal([]byte(out), &p); err != nil {
		t.Fatal(err)
	}
	return &p
}

// start creates pods of manifests by their names, and waits until all are ready.
func (b *bench) start(t *testing.T, manifests map[string]string) {
	t.Helper()
	for name, m := range manifests {
		b.CreateOf(t, m, name)
	}
	for name := range manifests {
		begin := time.Now()
		b.Runs(t, name)
		t.Logf("%s runs after another %s", name, time.Since(begin).Round(time.Second))
	}
}

// id returns the id of a pod's container.
func id(t *testing.T, p *v1.Pod, container string) string {
	t.Helper()
	for _, s := range append(p.Status.ContainerStatuses, p.Status.InitContainerStatuses...) {
		if s.Name == container {
			return strings.TrimPrefix(s.ContainerID, "containerd://")
		}
	}
	t.Fatalf("pod %s has no container %s", p.Name, container)
	return ""
}

// slice is a pod's cgroup with the systemd driver.
func slice(p *v1.Pod) string {
	uid := "pod" + strings.ReplaceAll(string(p.UID), "-", "_") + ".slice"
	if p.Status.QOSClass == v1.PodQOSGuaranteed {
		return "kubepods.slice/kubepods-" + uid
	}
	tier := "kubepods-" + strings.ToLower(string(p.Status.QOSClass))
	return path.Join("kubepods.slice", tier+".slice", tier+"-"+uid)
}

// scope is a container's cgroup with the systemd driver.
func scope(t *testing.T, p *v1.Pod, container string) string {
	t.Helper()
	return slice(p) + "/cri-containerd-" + id(t, p, container) + ".scope"
}

// has compares files of a cgroup, as "memory.max": "67108864".
func (b *bench) has(t *testing.T, cgroup string, files map[string]string) {
	t.Helper()
	for file, want := range files {
		if got, err := b.VM.Run(t.Context(), "cat "+path.Join(mount, cgroup, file)); err != nil || got != want {
			t.Errorf("%s/%s is %q, %v, want %q", cgroup, file, got, err, want)
		}
	}
}

// process returns the number of a container's first process.
func (b *bench) process(t *testing.T, p *v1.Pod, container string) string {
	t.Helper()
	return b.Run(t, "head -n1 "+path.Join(mount, scope(t, p, container), "cgroup.procs"))
}

// within runs a script in a container. It returns what it printed, also to its stderr.
func (b *bench) within(t *testing.T, p *v1.Pod, container, script string) string {
	t.Helper()
	const exec = `ctr -n k8s.io tasks exec --exec-id "$(cat /proc/sys/kernel/random/uuid)" %s sh -c '%s' 2>&1; true`
	return b.Run(t, fmt.Sprintf(exec, id(t, p, container), script))
}

// stays remembers the containers of pods. check sees that they are the same, none was started again, and the node is ready.
func (b *bench) stays(t *testing.T, names ...string) (check func(t *testing.T)) {
	t.Helper()
	before := map[string]string{}
	for _, n := range names {
		before[n] = started(b.pod(t, n))
	}
	return func(t *testing.T) {
		t.Helper()
		if err := b.Ready(t.Context()); err != nil {
			t.Error(err)
		}
		for _, n := range names {
			p := b.pod(t, n)
			if after := started(p); after != before[n] || p.Status.Phase != v1.PodRunning {
				t.Errorf("pod %s was\n%sand is, %s,\n%s", n, before[n], p.Status.Phase, after)
			}
		}
	}
}

// started names the containers of a pod, with how often they were started.
func started(p *v1.Pod) string {
	var s strings.Builder
	for _, c := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
		fmt.Fprintf(&s, "%s %s %d\n", c.Name, c.ContainerID, c.RestartCount)
	}
	return s.String()
}

// spec is a pod of the host's network, with these lines in its spec and in that of its container web. It stays while the node, which is slow,
// is not ready: the cluster would delete it after five minutes.
func spec(pod, container string) string {
	if pod != "" {
		pod = "\n  " + pod
	}
	if container != "" {
		container = "\n    " + container
	}
	return `
apiVersion: v1
kind: Pod
metadata: {name: %[1]s}
spec:
  nodeName: vm
  hostNetwork: true
  automountServiceAccountToken: false
  tolerations: [{operator: Exists}]
  terminationGracePeriodSeconds: 1` + pod + `
  containers:
  - name: web
    image: "%[2]s"
    command: [sleep, "36000"]` + container + "\n"
}

// anew waits until a pod is ready with another container web than before.
func (b *bench) anew(t *testing.T, name, before string) {
	t.Helper()
	vmbench.Eventually(t, name+" runs again", func() string {
		p := b.pod(t, name)
		now := id(t, p, "web")
		for _, c := range p.Status.Conditions {
			if c.Type == v1.PodReady && c.Status == v1.ConditionTrue && now != before {
				return ""
			}
		}
		return fmt.Sprintf("%s, container %s", p.Status.Phase, now)
	})
}

// later runs a script on the node when the test ends.
func (b *bench) later(t *testing.T, script string) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), vmbench.Deadline)
		defer cancel()
		if out, err := b.VM.Run(ctx, script); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}
