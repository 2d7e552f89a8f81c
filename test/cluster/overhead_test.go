package cluster

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	node "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
)

// class makes a RuntimeClass of the runtime that there is, each pod of which costs so much more, until the test ends.
func (b *bench) class(t *testing.T, cpu, memory string) string {
	t.Helper()
	c := &node.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "c-" + rand.String(6)}, Handler: "runc",
		Overhead: &node.Overhead{PodFixed: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}},
	}
	classes := b.client.NodeV1().RuntimeClasses()
	if _, err := classes.Create(t.Context(), c, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := classes.Delete(context.WithoutCancel(t.Context()), c.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return c.Name
}

// TestOverhead has pods of runtime classes with overhead: their cgroups have room for it, and the node must.
func TestOverhead(t *testing.T) {
	b := setup(t)
	b.node(t)
	s := b.space(t)
	p := pod("p", forever)
	p.Spec.RuntimeClassName = new(b.class(t, "100m", "32Mi"))
	p.Spec.Containers[0].Resources = resources("100m", "64Mi")
	big := pod("big", forever)
	big.Spec.RuntimeClassName = new(b.class(t, "100m", "100Ti"))
	big.Spec.Containers[0].Resources = resources("100m", "64Mi")
	s.create(p, big)
	s.ready("p")
	got, err := s.get("p")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []struct{ controller, v1, v2, v1Value, v2Value string }{
		{"memory", "memory.limit_in_bytes", "memory.max", "100663296", "100663296"},
		{"cpu", "cpu.cfs_quota_us", "cpu.max", "20000", "20000 100000"},
	} {
		have, want := b.podCgroup(t, f.controller, string(got.UID), f.v1), f.v1Value
		if have == "" {
			have, want = b.podCgroup(t, "", string(got.UID), f.v2), f.v2Value
		}
		if have != want {
			t.Errorf("%s of the pod is %q, want %s", f.v1, have, want)
		}
	}
	if out := s.kubectl("exec", "p", "--", "sh", "-c", "cat /sys/fs/cgroup/memory/memory.limit_in_bytes || cat /sys/fs/cgroup/memory.max"); !strings.Contains(out, "67108864") {
		t.Errorf("the container's own limit is %s", out)
	}
	refused := s.wait("big", "refused", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed })
	if refused.Status.Reason != "OutOfmemory" {
		t.Error(short(refused))
	}
}

// podCgroup reads a file of the pod's own cgroup in the tree of a controller, "" if there is none.
func (b *bench) podCgroup(t *testing.T, controller, uid, file string) string {
	t.Helper()
	var text string
	root := filepath.Join("/sys/fs/cgroup", controller, b.CgroupRoot)
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || filepath.Base(path) != "pod"+uid {
			return nil //nolint:nilerr // cgroups come and go
		}
		data, err := os.ReadFile(filepath.Join(path, file))
		if err == nil {
			text = strings.TrimSpace(string(data))
		}
		return fs.SkipAll
	})
	return text
}
