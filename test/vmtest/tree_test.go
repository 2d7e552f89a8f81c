package vmtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	vmbench "github.com/kubeloupe/kubeloupe/test/vm/bench"
	"github.com/kubeloupe/kubeloupe/test/vm/node"
)

// resourced is a pod whose container has resources, as {limits: {cpu: 100m}}.
func resourced(r string) string { return spec("", "resources: "+r) }

// compared are pods of all kinds that the limits of cgroups depend on.
func compared() map[string]string {
	return map[string]string{
		"guaranteed": resourced("{limits: {cpu: 100m, memory: 32Mi}}"),
		"whole-cpu":  resourced(`{limits: {cpu: "1", memory: 32Mi}}`),
		"request":    resourced("{requests: {cpu: 50m, memory: 16Mi}}"),
		"limits":     resourced("{requests: {cpu: 50m, memory: 16Mi}, limits: {cpu: 200m, memory: 64Mi}}"),
		"cpu-only":   resourced("{limits: {cpu: 150m}}"),
		"swap":       resourced("{requests: {memory: 16Mi}, limits: {memory: 64Mi}}"),
		"besteffort": spec("", ""),
		"pod-level":  spec("resources: {requests: {cpu: 60m, memory: 24Mi}, limits: {cpu: 120m, memory: 48Mi}}", ""),
		"pod-level-guaranteed": spec("resources: {limits: {cpu: 120m, memory: 48Mi}}",
			"resources: {requests: {cpu: 20m, memory: 16Mi}}"),
		"hugepages": resourced("{limits: {cpu: 50m, memory: 32Mi, hugepages-2Mi: 4Mi}}"),
		"users":     strings.Replace(resourced("{limits: {cpu: 50m, memory: 32Mi}}"), "hostNetwork: true", "hostUsers: false", 1),
		"sidecar": spec(`initContainers:
  - {name: prepare, image: "%[2]s", command: ["true"], resources: {requests: {cpu: 300m, memory: 48Mi}}}
  - {name: beside, image: "%[2]s", restartPolicy: Always, command: [sleep, "36000"], resources: {requests: {cpu: 20m, memory: 16Mi}, limits: {memory: 32Mi}}}`,
			"resources: {requests: {cpu: 30m, memory: 16Mi}, limits: {memory: 32Mi}}"),
		"two": spec(`volumes: [{name: memory, emptyDir: {medium: Memory, sizeLimit: 8Mi}}]`,
			`resources: {limits: {cpu: 50m, memory: 32Mi}}
  - {name: other, image: "%[2]s", command: [sleep, "36000"]}`),
	}
}

// limitFiles are the files of a cgroup that limit what is in it.
var limitFiles = []string{
	"cpu.weight", "cpu.max", "cpu.idle", "memory.max", "memory.high", "memory.low", "memory.min", "memory.swap.max", "memory.oom.group", "memory.zswap.max",
	"pids.max", "hugetlb.*.max", "cpuset.cpus", "cpuset.mems", "io.weight", "io.max",
}

// different is a file that may differ, with the reason. The cgroup is a pattern as of path.Match.
type different struct{ cgroup, file, reason string }

// mayDiffer is short: each line is a decision.
var mayDiffer = []different{}

// TestCgroupTree compares the cgroups of pods of all kinds, and those above them, under kubeloupe and under upstream's kubelet on the same
// node: file by file.
func TestCgroupTree(t *testing.T) {
	b := setup(t)
	ours := b.tree(t, node.Kubeloupe)
	theirs := b.tree(t, node.Kubelet)
	b.agent(t, node.Kubeloupe)
	if len(ours) < 100 || len(theirs) < 100 {
		t.Fatalf("kubeloupe has %d files, upstream %d", len(ours), len(theirs))
	}
	keys := maps.Clone(ours)
	maps.Copy(keys, theirs)
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "cgroup\tfile\tkubeloupe\tupstream\t")
	bad := 0
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if ours[k] == theirs[k] {
			continue
		}
		dir, file := path.Split(k)
		why := reasonOf(strings.TrimSuffix(dir, "/"), file)
		if why == "" {
			bad++
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", dir, file, cmp.Or(ours[k], "-"), cmp.Or(theirs[k], "-"), why)
	}
	_ = w.Flush()
	t.Logf("%d files are compared\n%s", len(keys), &table)
	if bad > 0 {
		t.Errorf("%d files differ without a reason", bad)
	}
}

func reasonOf(dir, file string) string {
	for _, d := range mayDiffer {
		inDir, err := path.Match(d.cgroup, dir)
		inFile, err2 := path.Match(d.file, file)
		if err == nil && err2 == nil && inDir && inFile {
			return d.reason
		}
	}
	return ""
}

// tree starts the pods under an agent, in cgroups that nobody has set before, and returns the files of the tree by their paths. Pods and
// containers have their names there.
func (b *bench) tree(t *testing.T, a node.Agent) map[string]string {
	t.Helper()
	b.empty(t)
	b.Run(t, "systemctl stop kubeloupe kubelet; systemctl stop kubepods.slice; rm -rf /run/systemd/system.control/kubepods* /run/systemd/transient/kubepods*; systemctl daemon-reload; "+
		"test ! -e "+mount+"/kubepods.slice")
	b.agent(t, a)
	names := slices.Sorted(maps.Keys(compared()))
	begin := time.Now()
	for _, n := range names {
		b.CreateOf(t, compared()[n], n)
	}
	for _, n := range names {
		b.Runs(t, n)
	}
	t.Logf("%s: %d pods run after %s", a, len(names), time.Since(begin).Round(time.Second))
	time.Sleep(70 * time.Second) // upstream sets the tiers once a minute
	var find []string
	for _, f := range limitFiles {
		find = append(find, "-name '"+f+"'")
	}
	text := b.Run(t, "cd "+mount+` && find kubepods.slice -type d -printf '%p/:there\n' && find kubepods.slice -type f \( `+strings.Join(find, " -o ")+` \) -exec grep -H . {} +; true`)
	fill := b.named(t, names)
	sandbox := regexp.MustCompile(`cri-containerd-[0-9a-f]{64}`)
	out := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		out[sandbox.ReplaceAllString(fill.Replace(name), "sandbox")] = value
	}
	b.empty(t)
	return out
}

// named replaces UIDs and container ids by names.
func (b *bench) named(t *testing.T, names []string) *strings.Replacer {
	t.Helper()
	var pairs []string
	for _, n := range names {
		p := b.pod(t, n)
		pairs = append(pairs, "pod"+strings.ReplaceAll(string(p.UID), "-", "_"), "pod-"+n)
		for _, c := range append(p.Status.ContainerStatuses, p.Status.InitContainerStatuses...) {
			pairs = append(pairs, "cri-containerd-"+strings.TrimPrefix(c.ContainerID, "containerd://"), c.Name)
		}
	}
	return strings.NewReplacer(pairs...)
}

// empty removes all pods of the namespace, and waits until their cgroups are gone.
func (b *bench) empty(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*vmbench.Deadline)
	defer cancel()
	if out, err := b.Kubectl(ctx, "delete", "pods", "--all", "--timeout", "15m"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b.Says(t, "find "+mount+"/kubepods.slice -type d -name '*pod*-pod*' -o -type d -name 'kubepods-pod*' | grep . || echo none", "none")
}
