package attach

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/test/interval"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/podstart"
)

var pairs = flag.Int("pairs", 0, "how many pairs of pod starts are measured, with attach and without")

const (
	// startReach is how many times as long a pod's start may take with attach, with the kubelet raised to V4.
	startReach = 1.02
	// settle is how long attach and the kubelet have to themselves before a pod that counts.
	settle = time.Second
)

// TestPairs measures what attach adds to pod starts: each pair is one pod that starts while attach follows a kubelet at V4, and one that starts
// while attach is stopped (SIGSTOP) and the kubelet is at V2. Both follow each other within seconds, in random order. What attach has missed
// meanwhile it reads before the next pod, and for the rest beside it: that counts as its cost.
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
	a := b.attach(t)
	a.caughtUp(t)
	t.Cleanup(func() { a.Process.Signal(syscall.SIGCONT) }) // it is ended after that
	var with, without []float64
	for n := range *pairs {
		for i, r := range rand.Perm(2) {
			level, signal, to := "2", syscall.SIGSTOP, &without
			if r == 0 {
				level, signal, to = "4", syscall.SIGCONT, &with
			}
			if err := errors.Join(a.Process.Signal(signal), verbosity(t.Context(), client, level)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(settle)
			ms, err := s.One(t.Context(), fmt.Sprintf("pair-%d-%d", n, i))
			if err != nil {
				t.Fatal(err)
			}
			*to = append(*to, ms)
		}
	}
	ratio := interval.Of(without, with)
	slices.Sort(with)
	slices.Sort(without)
	t.Logf("pod start with attach at V4 against without at V2, %d pairs: p50 %.1f ms against %.1f ms, %s, ≤ %.2f %s",
		*pairs, with[len(with)/2], without[len(without)/2], ratio, startReach, ratio.Verdict(startReach))
}

// verbosity sets the kubelet's verbosity, by its API.
func verbosity(ctx context.Context, client kubernetes.Interface, level string) error {
	return client.CoreV1().RESTClient().Put().Resource("nodes").Name(lab.NodeName).SubResource("proxy").
		Suffix("debug/flags/v").Body([]byte(level)).Do(ctx).Error()
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
