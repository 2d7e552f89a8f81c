package attach

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/test/interval"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/podstart"
)

var (
	pairs     = flag.Int("pairs", 0, "how many pairs of samples of pod starts are measured, with attach and without")
	perSample = flag.Int("sample", 6, "how many pods the kubelet starts for one sample, which is their median")
)

// startReach is how many times as long a pod's start may take with attach, which has raised the kubelet to V4.
const startReach = 1.02

// TestPairs measures what attach adds to pod starts by a kubelet at V2, when it has raised that to V4.
func TestPairs(t *testing.T) {
	if *pairs == 0 {
		t.Skip("-pairs 0")
	}
	b := setup(t)
	b.again(t, 2)
	t.Cleanup(func() { b.again(t, 4) })
	client, err := b.Client()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := b.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s := podstart.Starter{Client: client, Runtime: runtimeapi.NewRuntimeServiceClient(conn), Image: b.Image(lab.ImageBusybox)}
	var with, without []float64
	for n := range *pairs {
		for i, r := range rand.Perm(2) {
			end := func() {}
			if r == 0 {
				end = b.attachRaised(t)
			}
			ms, err := s.Median(t.Context(), fmt.Sprintf("pair-%d-%d", n, i), *perSample)
			end()
			if err != nil {
				t.Fatal(err)
			}
			if r == 0 {
				with = append(with, ms)
			} else {
				without = append(without, ms)
			}
		}
		t.Logf("pair %d: %.1f ms with, %.1f ms without", n, with[n], without[n])
	}
	ratio := interval.Of(without, with)
	t.Logf("pod start with attach at V4 against without at V2, %d pairs: %s, ≤ %.2f %s", *pairs, ratio, startReach, ratio.Verdict(startReach))
}

// again starts the kubelet with another verbosity, and changed otherwise.
func (b *bench) again(t *testing.T, level int, change ...func(*lab.AgentConfig)) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	err := b.kubelet.Stop(ctx)
	if err == nil {
		b.portFree(t)
		b.kubelet, err = b.start(ctx, t.Output(), level, change...)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// attachRaised starts attach, which raises the kubelet to V4 and puts it back when it is ended.
func (b *bench) attachRaised(t *testing.T) (end func()) {
	t.Helper()
	before := b.lines(t, fourth)
	a := b.attach(t, "--raise-verbosity", "4", "--for", "10m", "--kubelet-kubeconfig", b.Kubeconfig)
	eventually(t, "lines of V4", func() string {
		if b.lines(t, fourth) == before {
			return "there are none: " + a.said()
		}
		return ""
	})
	a.caughtUp(t)
	return func() {
		a.Process.Signal(syscall.SIGTERM) // Wait tells
		<-a.done
	}
}

// caughtUp waits until attach has read what the logs had before it: it needs less than a twentieth of a processor then.
func (a *attached) caughtUp(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(deadline); time.Now().Before(end); {
		before := a.cpu(t)
		time.Sleep(time.Second)
		if a.cpu(t)-before < time.Second/20 {
			return
		}
	}
	t.Fatal("attach computes all the time")
}

// portFree waits until the port of a kubelet that has ended can be listened at again.
func (b *bench) portFree(t *testing.T) {
	t.Helper()
	eventually(t, "the kubelet's port is free", func() string {
		l, err := net.Listen("tcp", fmt.Sprintf("0.0.0.0:%d", b.KubeletPort))
		if err == nil {
			err = l.Close()
		}
		if err != nil {
			return err.Error()
		}
		return ""
	})
}
