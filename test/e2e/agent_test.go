package e2e

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/jsonl"
	"github.com/kubeloupe/kubeloupe/trace/printer"
)

// agent is a running `kubeloupe run -o json`.
type agent struct {
	node   *node
	cmd    *exec.Cmd
	stderr output
	done   chan struct{}

	mu     sync.Mutex
	recs   []trace.Record
	model  *model.Model
	more   chan struct{} // closed at the next record
	from   int           // waits look at records from here on
	killAt func(*trace.Record) bool
	signal os.Signal // for killAt
}

// command is the binary with the node's flags.
func (n *node) command(more ...string) *exec.Cmd {
	n.t.Helper()
	config := filepath.Join(n.dir, "config.yaml")
	text := "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\npodLogsDir: " + n.logs + "\n" + lab.AnyDisk + n.config
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
	args := append([]string{
		"run", "-o", "json", "--pod-manifest-path", n.manifests, "--config", config, "--root-dir", n.root, "--cgroup-root", n.cgroup,
		"--hostname-override", n.name, "--container-runtime-endpoint", n.RuntimeEndpoint, "--healthz-port", "0",
	}, n.flags...)
	return exec.Command(n.binary, append(args, more...)...)
}

// start runs an agent and returns when it is ready.
func (n *node) start(more ...string) *agent {
	n.t.Helper()
	a := n.launch(nil, nil, more...)
	a.wait("agent ready", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Agent)
		return ok && e.State == trace.AgentReady
	})
	return a
}

// launch runs an agent, which gets the signal at the first record that at picks.
func (n *node) launch(sig os.Signal, at func(*trace.Record) bool, more ...string) *agent {
	n.t.Helper()
	n.agent = n.begin(n.command(more...), sig, at)
	return n.agent
}

// begin runs what prints records as JSON.
func (n *node) begin(cmd *exec.Cmd, sig os.Signal, at func(*trace.Record) bool) *agent {
	n.t.Helper()
	a := &agent{
		node: n, cmd: cmd, done: make(chan struct{}), more: make(chan struct{}),
		model: model.New(model.Options{}), signal: sig, killAt: at,
	}
	a.cmd.Stderr = &a.stderr
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	if err := a.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	go a.follow(out)
	n.t.Cleanup(func() {
		if !a.exited() {
			a.kill()
		}
	})
	return a
}

// follow collects records until the agent's output ends.
func (a *agent) follow(out io.Reader) {
	for rec, err := range jsonl.Read(out) {
		if err != nil {
			if !errors.Is(err, jsonl.ErrTorn) {
				a.node.t.Errorf("output of the agent: %v", err)
			}
			continue
		}
		a.mu.Lock()
		a.recs = append(a.recs, rec)
		a.model.Apply(&rec)
		close(a.more)
		a.more = make(chan struct{})
		if a.killAt != nil && a.killAt(&rec) {
			a.killAt = nil
			_ = a.cmd.Process.Signal(a.signal)
		}
		a.mu.Unlock()
	}
	_ = a.cmd.Wait()
	close(a.done)
}

func (a *agent) exited() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// kill ends the agent by SIGKILL.
func (a *agent) kill() { a.end(syscall.SIGKILL) }

// stop ends the agent by SIGTERM and sees that it ends well.
func (a *agent) stop() {
	a.node.t.Helper()
	a.end(syscall.SIGTERM)
	if code := a.cmd.ProcessState.ExitCode(); code != 0 {
		a.node.t.Errorf("the agent ended with %d after SIGTERM: %s", code, &a.stderr)
	}
	a.checkStream()
}

func (a *agent) end(sig syscall.Signal) {
	a.node.t.Helper()
	_ = a.cmd.Process.Signal(sig)
	select {
	case <-a.done:
	case <-time.After(deadline):
		_ = a.cmd.Process.Kill()
		a.node.t.Errorf("the agent does not end on %v", sig)
	}
}

// mark makes later waits look at later records only.
func (a *agent) mark() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.from = len(a.recs)
}

// find returns the records since the mark that match.
func (a *agent) find(match func(*trace.Record) bool) []trace.Record {
	recs, _ := a.since(0)
	var out []trace.Record
	for i := range recs {
		if match(&recs[i]) {
			out = append(out, recs[i])
		}
	}
	return out
}

// wait returns the first record since the mark that matches.
func (a *agent) wait(what string, match func(*trace.Record) bool) trace.Record {
	a.node.t.Helper()
	limit := time.After(deadline)
	for i := 0; ; {
		recs, more := a.since(i)
		for j := range recs {
			if match(&recs[j]) {
				return recs[j]
			}
		}
		i += len(recs)
		select {
		case <-more:
			continue
		case <-a.done:
			if recs, _ := a.since(i); len(recs) > 0 {
				continue
			}
			a.node.t.Errorf("waiting for %s: the agent ended: %s", what, &a.stderr)
		case <-limit:
			a.node.t.Errorf("waiting for %s: not within %s", what, deadline)
		}
		a.dump()
		a.node.t.FailNow()
	}
}

// since returns the records from the nth after the mark, and what is closed when there are more.
func (a *agent) since(n int) ([]trace.Record, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.recs[min(len(a.recs), a.from+n):], a.more
}

// next returns at the next record, or soon.
func (a *agent) next() {
	if a == nil { // there is none yet
		time.Sleep(20 * time.Millisecond)
		return
	}
	a.mu.Lock()
	more := a.more
	a.mu.Unlock()
	select {
	case <-more:
	case <-time.After(100 * time.Millisecond):
	}
}

// dump logs the last records as lines.
func (a *agent) dump() {
	if a == nil {
		return
	}
	a.node.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	var b strings.Builder
	text := printer.Text(&b, printer.TextOptions{Relative: true})
	for i := max(0, len(a.recs)-150); i < len(a.recs); i++ {
		_ = text.Write(&a.recs[i])
	}
	_ = text.Flush()
	a.node.t.Logf("the last records:\n%s%s", b.String(), &a.stderr)
}
