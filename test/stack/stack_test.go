package stack

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/ownnet"
	"github.com/kubeloupe/kubeloupe/test/testbed"
)

// deadline is how long a test waits for one thing on a machine that is busy.
const deadline = 4 * time.Minute

// bench is a cluster with the stack.
type bench struct {
	*testbed.Bed
	// images are the names of deploy/stack's images, with tags, by their short names.
	images map[string]string
	// prometheus and jaeger are the addresses of the Services; jaeger is empty without one.
	prometheus, jaeger string
}

// TestStack follows docs/fleet.md: the stack is applied, and the agent and then attach send their spans to it. The steps need each other.
func TestStack(t *testing.T) {
	if os.Getenv(wanted) == "" {
		t.Skip("it takes minutes, because metrics are scraped every 30 s: " + wanted + "=1")
	}
	ownnet.Need(t)
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
	b := &bench{Bed: bed}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go b.ApproveServing(ctx) //nolint:errcheck // it ends with ctx
	b.pushImages(t)
	agent := b.agent(t, lab.Kubeloupe, nil, "--node-labels", "kubeloupe.dev/agent=true")
	b.apply(t)

	collector := b.address(t, "collector", "4317")
	stopped(t, agent)
	agent = b.agent(t, lab.Kubeloupe, func(config map[string]any) {
		config["tracing"] = map[string]any{"endpoint": collector, "samplingRatePerMillion": 1000000}
	}, "--node-labels", "kubeloupe.dev/agent=true")
	t.Logf("the agent sends its spans to %s", collector)
	b.judge(t, "kubeloupe", "agent", 4)

	stopped(t, agent)
	agent = b.agent(t, lab.Upstream, nil, "--v=4")
	b.attach(t, agent.PID())
	b.judge(t, "kubeloupe-attach", "attach", 4)
	b.said(t)
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

func stopped(t *testing.T, a *lab.Agent) {
	t.Helper()
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// start starts pods one after the other, waits until they are ready, and removes them.
func (b *bench) start(t *testing.T, name string, n int) (pods []string) {
	t.Helper()
	for i := range n {
		pod := name + "-" + string(rune('a'+i))
		b.kubectl(t, "run", pod, "--image="+b.Image(lab.ImageBusybox), "--restart=Never", "--", "sleep", "1000")
		b.kubectl(t, "wait", "--for=condition=Ready", "pod/"+pod, "--timeout="+deadline.String())
		pods = append(pods, pod)
	}
	b.kubectl(t, append([]string{"delete", "pod", "--now"}, pods...)...)
	return slices.Clone(pods)
}

// kubectl runs kubectl as the administrator, and returns what it printed.
func (b *bench) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := b.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatalf("kubectl %q: %v: %s", args, err, out)
	}
	return out
}

// closing is what taking the cluster down may take: nothing is waited for that long before go test's timeout, which would leave it.
const closing = 90 * time.Second

// eventually waits until wrong says nothing.
func eventually(t *testing.T, what string, wrong func() string) {
	t.Helper()
	end := time.Now().Add(deadline)
	if last, ok := t.Deadline(); ok && last.Add(-closing).Before(end) {
		end = last.Add(-closing)
	}
	for {
		said := wrong()
		if said == "" {
			return
		}
		if time.Now().After(end) || t.Context().Err() != nil {
			t.Fatalf("%s: %s", what, said)
		}
		time.Sleep(time.Second)
	}
}
