package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/jsonl"
)

const (
	// patience is how long one thing may take in a machine that is emulated.
	patience    = 8 * time.Minute
	recordsFile = "/node/records.jsonl"
	nodeName    = "vm"
	readOnly    = "http://127.0.0.1:10255"
	healthz     = readOnly + "/healthz" // with the checks; 10248 only says that the process answers
)

const config = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
podLogsDir: /node/log
readOnlyPort: 10255
containerLogMaxSize: 64Ki
containerLogMaxFiles: 3
containerLogMonitorInterval: 3s
imageMaximumGCAge: 30m
`

// node is an agent that runs, and what it has told.
type node struct {
	*lab.Lab  // nil: the runtime is simulated
	manifests string
	cmd       *exec.Cmd
	done      chan struct{}

	mu   sync.Mutex
	recs []trace.Record
	more chan struct{}
	bad  error
	nth  int
}

func newNode(ctx context.Context, l *lab.Lab, dir string) (*node, error) {
	n := &node{Lab: l, manifests: filepath.Join(dir, "manifests"), done: make(chan struct{}), more: make(chan struct{})}
	if err := os.MkdirAll(n.manifests, 0o755); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte(config+lab.AnyDisk), 0o600); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "agent.log"))
	if err != nil {
		return nil, err
	}
	records, err := os.Create(recordsFile)
	if err != nil {
		return nil, err
	}
	n.cmd = exec.Command(guestBinary, "run", "-o", "json", "--pod-manifest-path", n.manifests, "--config", file, "--root-dir", filepath.Join(dir, "root"),
		"--hostname-override", nodeName)
	if l == nil {
		n.cmd.Args = append(n.cmd.Args, "--runtime", "sim")
	} else {
		n.cmd.Args = append(n.cmd.Args, "--cgroup-root", l.CgroupRoot, "--container-runtime-endpoint", l.RuntimeEndpoint)
	}
	n.cmd.Stderr = log
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		for rec, err := range jsonl.Read(io.TeeReader(out, records)) {
			n.note(rec, err)
		}
		_ = n.cmd.Wait()
		close(n.done)
	}()
	return n, n.until(ctx, "the agent to be ready", 0, func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Agent)
		return ok && e.State == trace.AgentReady
	})
}

func (n *node) note(r trace.Record, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		if !errors.Is(err, jsonl.ErrTorn) {
			n.bad = errors.Join(n.bad, err)
		}
		return
	}
	n.recs = append(n.recs, r)
	close(n.more)
	n.more = make(chan struct{})
}

// mark is how many records there are.
func (n *node) mark() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.recs)
}

// after are the records from a mark on.
func (n *node) after(mark int) []trace.Record {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.recs[mark:])
}

// until waits for a record, from a mark on.
func (n *node) until(ctx context.Context, what string, mark int, is func(*trace.Record) bool) error {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		n.mu.Lock()
		recs, more := n.recs[mark:], n.more
		n.mu.Unlock()
		for i := range recs {
			if is(&recs[i]) {
				return nil
			}
		}
		mark += len(recs)
		select {
		case <-more:
		case <-n.done:
			return fmt.Errorf("waiting for %s: the agent ended", what)
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			return fmt.Errorf("waiting for %s: not within %s", what, patience)
		}
	}
}

func ofPod(r *trace.Record, name string) bool { return r.Pod.Name == name+"-"+nodeName }

func milestone(pod, name string) func(*trace.Record) bool {
	return func(r *trace.Record) bool {
		m, ok := r.Event.(*trace.Milestone)
		return ok && string(m.Name) == name && ofPod(r, pod)
	}
}

func (n *node) put(name, spec string) error {
	image := "busybox:1"
	if n.Lab != nil {
		image = n.Image(lab.ImageBusybox)
	}
	text := "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n" + strings.ReplaceAll(spec, "$BUSYBOX", image)
	tmp := filepath.Join(n.manifests, "."+name)
	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, n.file(name))
}

func (n *node) file(name string) string { return filepath.Join(n.manifests, name+".yaml") }

// run puts a pod and waits until it runs; it returns how long that took.
func (n *node) run(ctx context.Context, name, spec string) (time.Duration, error) {
	mark, begun := n.mark(), time.Now()
	if err := n.put(name, spec); err != nil {
		return 0, err
	}
	err := n.until(ctx, name+" to run", mark, milestone(name, "started"))
	return time.Since(begun), err
}

func (n *node) drop(ctx context.Context, name string) error {
	mark := n.mark()
	if err := os.Remove(n.file(name)); err != nil {
		return err
	}
	return n.until(ctx, name+" to be gone", mark, milestone(name, "gone"))
}

const plain = "  terminationGracePeriodSeconds: 0\n  containers: [{name: main, image: $BUSYBOX, command: [sleep, infinity]}]\n"

// starts measures some plain pods, one after the other.
func (n *node) starts(ctx context.Context, k int) ([]time.Duration, error) {
	var all []time.Duration
	for range k {
		n.nth++
		name := fmt.Sprintf("plain-%d", n.nth)
		took, err := n.run(ctx, name, plain)
		if err == nil {
			err = n.drop(ctx, name)
		}
		if err != nil {
			return all, err
		}
		all = append(all, took)
	}
	return all, nil
}

// pods asks the agent for its pods.
func (n *node) pods(ctx context.Context) (map[string]v1.PodStatus, error) {
	body, err := get(ctx, readOnly+"/pods")
	if err != nil {
		return nil, err
	}
	var list v1.PodList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	all := map[string]v1.PodStatus{}
	for i := range list.Items {
		all[strings.TrimSuffix(list.Items[i].Name, "-"+nodeName)] = list.Items[i].Status
	}
	return all, nil
}

func get(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, resp.Status)
	}
	return body, err
}

// why asks for the reports of all starts, of the live agent or of what it has printed.
func (n *node) why(ctx context.Context, live bool) ([]why.Report, error) {
	args := []string{"why", "--all", "-o", "json", "--from", recordsFile}
	if live {
		args = []string{"why", "--all", "-o", "json", "--socket", "/node/root/kubeloupe.sock"}
	}
	out, err := exec.CommandContext(ctx, guestBinary, args...).Output()
	if err != nil {
		return nil, fmt.Errorf("kubeloupe %s: %w", strings.Join(args, " "), err)
	}
	var reports []why.Report
	return reports, json.Unmarshal(out, &reports)
}

func (n *node) alive() bool {
	select {
	case <-n.done:
		return false
	default:
		return true
	}
}

// close ends the agent as a service manager does.
func (n *node) close() []finding {
	if !n.alive() {
		return []finding{good(false, "the agent is up: it ended by itself")}
	}
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-n.done:
	case <-time.After(patience):
		return []finding{good(false, "the agent ends on SIGTERM")}
	}
	code := n.cmd.ProcessState.ExitCode()
	return []finding{good(code == 0, "the agent was up, and ended on SIGTERM with %d", code), good(n.bad == nil, "its records can be read (%v)", n.bad)}
}

func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(all))[len(all)/2]
}
