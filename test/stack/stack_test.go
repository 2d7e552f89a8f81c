package stack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/ownnet"
	"github.com/kubeloupe/kubeloupe/test/testbed"
)

// starts are how many pods are started under each agent.
const starts = 4

// bench is a cluster with the stack.
type bench struct {
	*testbed.Bed
	// images are the names of deploy/stack's images, with tags, by their short names.
	images map[string]string
	// prometheus and jaeger are the addresses of the Services; jaeger is empty without one.
	prometheus, jaeger string
}

// TestStack follows docs/fleet.md: the stack is applied, the agent and then attach send their spans to it, and it is removed. Each step needs those
// before.
func TestStack(t *testing.T) {
	if os.Getenv(wanted) == "" {
		t.Skip("it takes minutes, because metrics are scraped every 30 s: " + wanted + "=1")
	}
	ownnet.Need(t)
	b := newBench(t)
	b.pushImages(t)
	label := []string{"--node-labels", "kubeloupe.dev/agent=true"}
	agent := b.agent(t, lab.Kubeloupe, nil, label...)
	stack := b.apply(t)

	collector := b.address(t, "collector", "4317")
	stop(t, agent)
	agent = b.agent(t, lab.Kubeloupe, func(config map[string]any) {
		config["tracing"] = map[string]any{"endpoint": collector, "samplingRatePerMillion": 1000000}
	}, label...)
	t.Logf("the agent sends its spans to %s", collector)
	b.judge(t, "kubeloupe", "agent")

	stop(t, agent)
	agent = b.agent(t, lab.Upstream, nil, "--v=4")
	attach := b.attach(t, agent.PID())
	b.judge(t, "kubeloupe-attach", "attach")

	b.said(t)
	for _, overlay := range []string{attach, stack} {
		b.kubectl(t, "delete", "-k", overlay, "--timeout", deadline.String())
	}
}

// newBench starts the cluster, and gives its node what a real node has.
func newBench(t *testing.T) *bench {
	t.Helper()
	bed, err := testbed.New("kl-stack-", t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(bed.Dir); err == nil {
			t.Errorf("%s is left", bed.Dir)
		}
	})
	root := filepath.Join(bed.Dir, "lab", "cluster", "node", "default", "root")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		// The namespace of the tests has no default route, and kube-proxy changes the address of a connection only after a route was found.
		{"ip", "route", "add", bed.ServiceCIDR, "dev", bed.Bridge},
		// systemd makes all mounts shared. If this directory were not, upstream's kubelet would mount it on itself, which hides the volumes that
		// kubeloupe mounted there, and could not remove them.
		{"mount", "--bind", root, root},
		{"mount", "--make-rshared", root},
	} {
		if out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", command, err, out)
		}
	}
	go bed.ApproveServing(t.Context())
	return &bench{Bed: bed}
}

// agent starts an agent with a serving certificate of the cluster's CA, and waits until its node is ready.
func (b *bench) agent(t *testing.T, kind lab.AgentKind, change func(map[string]any), args ...string) *lab.Agent {
	t.Helper()
	config, err := b.WriteKubeletConfig("stack", func(config map[string]any) {
		lab.ServingBootstrap(config)
		if change != nil {
			change(config)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	c := lab.AgentConfig{Kind: kind, KubeletConfig: config, Args: args, Log: t.Output()}
	if kind == lab.Kubeloupe {
		c.Program = b.Binary
	}
	a, err := b.StartAgent(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a
}

func stop(t *testing.T, a *lab.Agent) {
	t.Helper()
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// start starts pods one after the other, each when the one before is ready.
func (b *bench) start(t *testing.T, name string) (pods []string) {
	t.Helper()
	for i := range starts {
		pod := fmt.Sprintf("%s-%d", name, i)
		b.kubectl(t, "run", pod, "--image="+b.Image(lab.ImageBusybox), "--restart=Never", "--", "sleep", "1000")
		b.kubectl(t, "wait", "--for=condition=Ready", "pod/"+pod, "--timeout="+deadline.String())
		pods = append(pods, pod)
	}
	return pods
}

// kubectl runs kubectl as the administrator, and returns what it printed.
func (b *bench) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithDeadline(t.Context(), last(t))
	defer cancel()
	out, err := b.Kubectl(ctx, args...)
	if err != nil {
		t.Fatalf("kubectl %q: %v: %s", args, err, out)
	}
	return out
}

const (
	// deadline is how long a test waits for one thing on a machine that is busy.
	deadline = 4 * time.Minute
	// closing is what taking the cluster down may take.
	closing = 90 * time.Second
)

// last is until when the test waits for one thing that begins now: go test's timeout would leave the cluster.
func last(t *testing.T) time.Time {
	end := time.Now().Add(deadline)
	if by, ok := t.Deadline(); ok && by.Add(-closing).Before(end) {
		return by.Add(-closing)
	}
	return end
}

// eventually waits until wrong says nothing.
func eventually(t *testing.T, what string, wrong func() string) {
	t.Helper()
	for end := last(t); ; time.Sleep(time.Second) {
		said := wrong()
		if said == "" {
			return
		}
		if time.Now().After(end) || t.Context().Err() != nil {
			t.Fatalf("%s: %s", what, said)
		}
	}
}
