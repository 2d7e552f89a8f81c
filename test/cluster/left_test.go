package cluster

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// things lists what pods have on the node, outside of the API.
func (b *bench) things(t *testing.T) map[string]bool {
	t.Helper()
	all := make(map[string]bool)
	add := func(kind string, names ...string) {
		for _, n := range names {
			all[kind+" "+n] = true
		}
	}
	conn, err := b.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	cri := runtimeapi.NewRuntimeServiceClient(conn)
	sandboxes, err := cri.ListPodSandbox(t.Context(), &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sandboxes.Items {
		add("sandbox", s.Metadata.Name+" "+s.Id)
	}
	containers, err := cri.ListContainers(t.Context(), &runtimeapi.ListContainersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range containers.Containers {
		add("container", c.Labels["io.kubernetes.pod.name"]+"/"+c.Metadata.Name+" "+c.Id)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); strings.HasPrefix(f[1], b.Dir) {
			add("mount", f[1])
		}
	}
	links, err := net.Interfaces() // of this network namespace, which is ours alone
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		add("interface", l.Name)
	}
	roots, _ := filepath.Glob("/sys/fs/cgroup/*" + b.CgroupRoot)
	for _, root := range append(roots, "/sys/fs/cgroup"+b.CgroupRoot) {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				add("cgroup", path)
			}
			return nil
		})
	}
	for _, pattern := range []string{
		b.nodePath("*", "root", "pods", "*"), b.nodePath("pods", "*"), filepath.Join(b.Dir, "ipam", "*", "10.*"), "/var/log/pods/" + "*" + filepath.Base(b.dir) + "*",
	} {
		paths, _ := filepath.Glob(pattern)
		add("file", paths...)
	}
	symlinks, _ := filepath.Glob("/var/log/containers/*")
	for _, l := range symlinks {
		if to, _ := os.Readlink(l); strings.HasPrefix(to, b.Dir) {
			add("link", l)
		}
	}
	return all
}

// nothingLeft waits until the node has nothing more than before.
func (b *bench) nothingLeft(t *testing.T, before map[string]bool) {
	t.Helper()
	eventually(t, "nothing to be left", func() string {
		var left []string
		for thing := range b.things(t) {
			if !before[thing] {
				left = append(left, thing)
			}
		}
		if len(left) == 0 {
			return ""
		}
		slices.Sort(left)
		return fmt.Sprintf("%d things are left:\n%s", len(left), strings.Join(left[:min(len(left), 40)], "\n"))
	})
	if a := b.Agent(); a == nil || !a.Alive() {
		t.Errorf("the agent of %s does not run any more", lab.NodeName)
	}
}
