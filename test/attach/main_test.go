package attach

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/discover"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/ownnet"
	"github.com/kubeloupe/kubeloupe/test/product"
	"github.com/kubeloupe/kubeloupe/test/testbed"
)

// deadline is how long a test waits for one thing on a machine that is busy.
const deadline = 2 * time.Minute

// bench is what all tests share: a cluster with upstream's kubelet, and kubeloupe. Tests that only attach and have pods of their own run side by
// side, after the others: those change the kubelet, the runtime, the network or the registry, or look at the pods of all.
type bench struct {
	*testbed.Bed
	kubelet *lab.Agent

	pushing sync.Mutex
	pushed  string // the repository of the image, once it is there
}

var shared = ownnet.Shared[*bench]{Build: func(t *testing.T) (*bench, error) { return newBench(t.Output()) }, Close: (*bench).close}

func TestMain(m *testing.M) {
	ownnet.Main(func() int { return shared.Run(m) }, lab.BuildCluster, product.Fetch)
}

// setup returns the bench, which the first test that asks for it builds.
func setup(t *testing.T) *bench {
	t.Helper()
	return shared.Get(t)
}

func newBench(log io.Writer) (_ *bench, err error) {
	bed, err := testbed.New("kl-attach-", log)
	if err != nil {
		return nil, err
	}
	b := &bench{Bed: bed}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	if b.kubelet, err = b.start(ctx, log, 4); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// start starts upstream's kubelet with a verbosity, and waits until its node is ready. change changes the rest of how it is started.
func (b *bench) start(ctx context.Context, log io.Writer, level int, change ...func(*lab.AgentConfig)) (*lab.Agent, error) {
	provider, err := b.provider()
	if err != nil {
		return nil, err
	}
	cfg := lab.AgentConfig{Kind: lab.Upstream, Args: append([]string{"--v=" + strconv.Itoa(level)}, provider...), Log: log}
	for _, f := range change {
		f(&cfg)
	}
	a, err := b.StartAgent(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return a, a.WaitReady(ctx)
}

// close stops the kubelet and the cluster. Its error names what is left.
func (b *bench) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if b.kubelet != nil {
		if err := b.kubelet.Stop(ctx); err != nil {
			return err
		}
	}
	return b.Close()
}

// kubeloupe runs a command and returns what it said.
func (b *bench) kubeloupe(t *testing.T, args ...string) string {
	t.Helper()
	out, err := b.try(t, args...)
	if err != nil {
		t.Fatalf("kubeloupe %q: %v\n%s", args, err, out)
	}
	return out
}

// try is kubeloupe of a command that may fail.
func (b *bench) try(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	c := exec.CommandContext(ctx, b.Binary, args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	if err != nil {
		out.Write(errs.Bytes())
	}
	return out.String(), err
}

// TestCheck sees that the kubelet, its settings, its runtime and their logs are found.
func TestCheck(t *testing.T) {
	b := setup(t)
	var f discover.Found
	text := b.kubeloupe(t, "attach", "--check", "-o", "json", "--pid", strconv.Itoa(b.kubelet.PID()))
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatal(err)
	}
	t.Log(b.kubeloupe(t, "attach", "--check", "--pid", strconv.Itoa(b.kubelet.PID())))
	switch {
	case f.Process.PID != b.kubelet.PID():
		t.Errorf("found process %d, want %d", f.Process.PID, b.kubelet.PID())
	case f.Config.RootDir != b.kubelet.RootDir || f.Config.Verbosity != 4:
		t.Errorf("found the root directory %s and V%d", f.Config.RootDir, f.Config.Verbosity)
	case f.Log.Kind != discover.LogFile || f.Log.Path != b.kubelet.LogFile:
		t.Errorf("found the log in %v", f.Log)
	case f.Runtime.Process == nil || f.Runtime.Name != "containerd" || f.Runtime.Log.Kind != discover.LogFile:
		t.Errorf("found the runtime %+v", f.Runtime)
	case f.PodsAPI == "" || f.PodResources == "":
		t.Errorf("found PodsAPI %q and the podresources API %q", f.PodsAPI, f.PodResources)
	}
}
