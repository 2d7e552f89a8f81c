package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// node is what outlives an agent: manifests, root directory, logs, cgroup root.
// Agents run on it one after the other.
type node struct {
	*bench
	t         *testing.T
	name      string
	dir       string
	manifests string
	root      string
	logs      string
	scratch   string // a directory for pods to leave things in, $DIR in manifests
	cgroup    string
	flags     []string
	config    string // more KubeletConfiguration
	agent     *agent // the newest
}

// newNode makes a node without pods. At the end of the test its pods are removed
// and nothing of them may be left.
func newNode(t *testing.T, flags ...string) *node {
	t.Helper()
	b := setup(t)
	dir, err := os.MkdirTemp(b.dir, "node-")
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ReplaceAll(filepath.Base(dir), "node-", "n")
	n := &node{
		bench: b, t: t, name: name, dir: dir, manifests: filepath.Join(dir, "manifests"), root: filepath.Join(dir, "root"),
		logs: filepath.Join(dir, "log", "pods"), scratch: filepath.Join(dir, "scratch"),
		cgroup: b.CgroupRoot + "/" + name, flags: flags,
	}
	for _, d := range []string{n.manifests, n.scratch} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(n.scratch, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.finish)
	return n
}

// ctx ends with the test, and its cleanups may still use it.
func (n *node) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.t.Context()), deadline)
	n.t.Cleanup(cancel)
	return ctx
}

// put writes a manifest at once, as `mv` would. In it, $BUSYBOX, $HTTP and the
// like stand for the lab's images, $DIR for the scratch directory, $WAIT for a command
// that ends when it is told to.
func (n *node) put(file, manifest string) {
	n.t.Helper()
	tmp := filepath.Join(n.manifests, "."+file)
	if err := os.WriteFile(tmp, []byte(n.expand(manifest)), 0o600); err != nil {
		n.t.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(n.manifests, file)); err != nil {
		n.t.Fatal(err)
	}
}

// waiting is a command that continues until it is told to end, and then ends at once.
const waiting = `[sh, -c, 'trap "exit 0" TERM; sleep infinity & wait']`

func (n *node) expand(manifest string) string {
	return strings.NewReplacer(
		"$BUSYBOX", n.Image(lab.ImageBusybox), "$HTTP", n.Image(lab.ImageHTTP), "$60M", n.Image(lab.Image60M),
		"$REGISTRY", n.Registry, "$DIR", n.scratch, "$WAIT", waiting,
	).Replace(manifest)
}

// drop removes a manifest.
func (n *node) drop(file string) {
	n.t.Helper()
	if err := os.Remove(filepath.Join(n.manifests, file)); err != nil {
		n.t.Fatal(err)
	}
}

// pod is the full name that a static pod gets on this node.
func (n *node) pod(name string) string { return name + "-" + n.name }

// read returns what a container left in the scratch directory, without the last newline.
func (n *node) read(file string) string {
	n.t.Helper()
	text, err := os.ReadFile(filepath.Join(n.scratch, file))
	if err != nil {
		n.t.Error(err)
	}
	return strings.TrimSuffix(string(text), "\n")
}

// await looks until something is so that no record tells.
func (n *node) await(what string, done func() bool) {
	n.t.Helper()
	for end := time.Now().Add(deadline); !done(); n.agent.next() {
		if time.Now().After(end) {
			n.agent.dump()
			n.t.Fatalf("waiting for %s: not within %s", what, deadline)
		}
	}
}

// log returns the output of a container's attempt, without the CRI's prefixes.
func (n *node) log(pod, container string, attempt int) string {
	n.t.Helper()
	found, err := filepath.Glob(filepath.Join(n.logs, "default_"+n.pod(pod)+"_*", container, fmt.Sprintf("%d.log", attempt)))
	if err != nil || len(found) != 1 {
		n.t.Errorf("log of %s/%s: %d files, %v", pod, container, len(found), err)
		return ""
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		n.t.Error(err)
	}
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		if f := strings.SplitN(line, " ", 4); len(f) == 4 {
			out.WriteString(f[3])
		}
	}
	return out.String()
}

// finish removes all manifests and sees that nothing is left.
func (n *node) finish() {
	if n.agent == nil {
		return
	}
	entries, err := os.ReadDir(n.manifests)
	if err != nil {
		n.t.Error(err)
	}
	for _, e := range entries {
		n.drop(e.Name())
	}
	if n.agent.exited() {
		n.start()
	}
	left := n.left()
	for end := time.Now().Add(cleanup); len(left) > 0 && time.Now().Before(end); left = n.left() {
		n.agent.next()
	}
	if len(left) > 0 {
		left = n.unstick(left)
	}
	if len(left) > 0 {
		n.t.Errorf("left after all manifests were removed:\n  %s", strings.Join(left, "\n  "))
		n.agent.dump()
		_ = n.RemovePods(n.ctx())
	}
	n.agent.stop()
	if n.t.Failed() {
		n.t.Logf("node directory was %s", n.dir)
	}
	if err := os.RemoveAll(n.dir); err != nil {
		n.t.Error(err)
	}
}
