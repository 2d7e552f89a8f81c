package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/jsonl"
)

// patience is how long one thing may take on a machine that is busy.
const patience = 2 * time.Minute

// node is an agent that runs, and what it works with.
type node struct {
	*lab.Lab
	dir, manifests, root string
	cmd                  *exec.Cmd
	done                 chan struct{}
	stderr               tail

	mu     sync.Mutex
	told   []trace.Record // that may tell of a fault
	waits  map[string]chan struct{}
	more   chan struct{}
	nth    int
	calls  map[string]time.Duration // how long the runtime's calls of a pod's start took, by the pod's name
	failed error                    // of its output
}

// newNode starts an agent in dir, with more KubeletConfiguration and flags; prepare, unless nil, changes the command.
func newNode(ctx context.Context, l *lab.Lab, binary, dir string, f *fault) (*node, error) {
	n := &node{
		Lab: l, dir: dir, manifests: filepath.Join(dir, "manifests"), root: filepath.Join(dir, "root"), done: make(chan struct{}),
		waits: map[string]chan struct{}{}, more: make(chan struct{}), calls: map[string]time.Duration{},
	}
	for _, d := range []string{n.manifests, n.root} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	config := filepath.Join(dir, "config.yaml")
	text := "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\npodLogsDir: " + filepath.Join(dir, "log", "pods") + "\n" + lab.AnyDisk + f.config
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	name := "f" + strconv.Itoa(os.Getpid())
	n.cmd = exec.Command(binary, append([]string{
		"run", "-o", "json", "--pod-manifest-path", n.manifests, "--config", config, "--root-dir", n.root,
		"--cgroup-root", l.CgroupRoot + "/" + filepath.Base(dir), "--hostname-override", name,
		"--container-runtime-endpoint", l.RuntimeEndpoint, "--healthz-port", "0",
	}, f.flags...)...)
	if f.command != nil {
		n.cmd = f.command(n.cmd)
	}
	n.cmd.Stderr = &n.stderr
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	ready := n.expect("agent ready")
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	go n.follow(out)
	return n, n.await(ctx, "the agent to be ready", ready)
}

// follow reads the agent's records. What has a cause of its own to be kept is: the output of a node under attack is long.
func (n *node) follow(out io.Reader) {
	for rec, err := range jsonl.Read(out) {
		if err != nil {
			if !errors.Is(err, jsonl.ErrTorn) {
				n.failed = errors.Join(n.failed, err)
			}
			continue
		}
		n.note(&rec)
	}
	_ = n.cmd.Wait()
	close(n.done)
}

func (n *node) note(r *trace.Record) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch e := r.Event.(type) {
	case *trace.Agent:
		n.signal("agent " + string(e.State))
	case *trace.Milestone:
		n.signal(ofManifest(r.Pod.Name) + " " + string(e.Name))
	case *trace.CRICall:
		if r.Edge == trace.EdgeEnd && slices.Contains([]string{"RunPodSandbox", "CreateContainer", "StartContainer"}, e.Method) {
			n.calls[ofManifest(r.Pod.Name)] += r.Dur
		}
	case *trace.Log, *trace.SourceError, *trace.PodStatus, *trace.NodeEvent, *trace.Decision, *trace.Source:
		if len(n.told) < 100_000 {
			n.told = append(n.told, *r)
			close(n.more)
			n.more = make(chan struct{})
		}
	default:
	}
}

// ofManifest is a static pod's name as its manifest has it.
func ofManifest(pod string) string { return strings.TrimSuffix(pod, "-f"+strconv.Itoa(os.Getpid())) }

// expect returns what is closed when it happens. With mu held, or before the agent runs.
func (n *node) expect(what string) <-chan struct{} {
	c, ok := n.waits[what]
	if !ok {
		c = make(chan struct{})
		n.waits[what] = c
	}
	return c
}

func (n *node) signal(what string) {
	if c, ok := n.waits[what]; ok {
		close(c)
		delete(n.waits, what)
	}
}

func (n *node) await(ctx context.Context, what string, c <-chan struct{}) error {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-c:
		return nil
	case <-n.done:
		return fmt.Errorf("waiting for %s: the agent ended: %s", what, n.stderr.String())
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-limit.C:
		return fmt.Errorf("waiting for %s: not within %s; told last:\n%s", what, patience, n.last(5))
	}
}

// tells waits for a record that tells of something.
func (n *node) tells(ctx context.Context, what string, match func(*trace.Record) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*patience, fmt.Errorf("waiting for %s: other things are told all the time", what))
	defer cancel()
	for i := 0; ; {
		n.mu.Lock()
		recs, more := n.told[i:], n.more
		n.mu.Unlock()
		for j := range recs {
			if match(&recs[j]) {
				return nil
			}
		}
		i += len(recs)
		if err := n.await(ctx, what, more); err != nil {
			return err
		}
	}
}

func (n *node) last(k int) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var b strings.Builder
	for _, r := range n.told[max(0, len(n.told)-k):] {
		fmt.Fprintf(&b, "  %s %s %+v\n", r.Pod.Name, r.Event.Kind(), r.Event)
	}
	return b.String()
}

// put writes a manifest in one step.
func (n *node) put(file, manifest string) error {
	text := strings.NewReplacer("$BUSYBOX", n.Image(lab.ImageBusybox), "$HTTP", n.Image(lab.ImageHTTP)).Replace(manifest)
	tmp := filepath.Join(n.manifests, "."+file)
	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(n.manifests, file))
}

// drop removes a manifest, and waits until nothing is left of its pod.
func (n *node) drop(ctx context.Context, pod string) error {
	n.mu.Lock()
	gone := n.expect(pod + " gone")
	n.mu.Unlock()
	if err := os.Remove(filepath.Join(n.manifests, pod+".yaml")); err != nil {
		return err
	}
	return n.await(ctx, pod+" to be gone", gone)
}

const plain = `
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: $BUSYBOX, command: [sleep, infinity]}]
`

// took is how long a pod's start takes: all of it, and the part of it that the runtime's calls take.
type took struct{ all, runtime time.Duration }

// start returns how long a plain pod takes from its manifest to running.
func (n *node) start(ctx context.Context) (took, error) {
	n.nth++
	name := fmt.Sprintf("plain-%d", n.nth)
	n.mu.Lock()
	started := n.expect(name + " started")
	n.mu.Unlock()
	begun := time.Now()
	if err := n.put(name+".yaml", fmt.Sprintf(plain, name)); err != nil {
		return took{}, err
	}
	if err := n.await(ctx, name+" to be started", started); err != nil {
		return took{}, err
	}
	t := took{all: time.Since(begun)}
	n.mu.Lock()
	t.runtime = n.calls[name]
	delete(n.calls, name)
	n.mu.Unlock()
	return t, n.drop(ctx, name)
}

// run starts a pod of a manifest and waits until it runs.
func (n *node) run(ctx context.Context, name, manifest string) error {
	n.mu.Lock()
	started := n.expect(name + " started")
	n.mu.Unlock()
	if err := n.put(name+".yaml", manifest); err != nil {
		return err
	}
	return n.await(ctx, name+" to be started", started)
}

func (n *node) alive() bool {
	select {
	case <-n.done:
		return false
	default:
		return true
	}
}

// memory returns the agent's resident set and its peak, in MiB.
func (n *node) memory() (rss, peak float64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.cmd.Process.Pid))
	for line := range strings.Lines(string(text)) {
		for _, f := range []struct {
			key string
			to  *float64
		}{{"VmRSS:", &rss}, {"VmHWM:", &peak}} {
			if v, ok := strings.CutPrefix(line, f.key); ok {
				kib, _ := strconv.ParseFloat(strings.Fields(v)[0], 64)
				*f.to = kib / 1024
			}
		}
	}
	return rss, peak
}

// forgetPeak has the peak begin again.
func (n *node) forgetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", n.cmd.Process.Pid), []byte("5"), 0)
}

// stop ends the agent, and then all pods by the runtime.
func (n *node) stop(ctx context.Context) error {
	var err error
	if n.alive() {
		_ = n.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-n.done:
		case <-time.After(patience):
			err = errors.New("the agent does not end on SIGTERM")
			_ = n.cmd.Process.Kill()
			<-n.done
		}
		if code := n.cmd.ProcessState.ExitCode(); err == nil && code != 0 {
			err = fmt.Errorf("the agent ended with %d: %s", code, n.stderr.String())
		}
	}
	return errors.Join(err, n.failed, n.RemovePods(ctx))
}

// tail keeps the end of what is written.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-4096):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
