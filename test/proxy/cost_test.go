package proxy

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/inspect/proxy/guard"
	"github.com/kubeloupe/kubeloupe/test/interval"
)

var (
	pairs = flag.Int("pairs", 0, "how many pairs of pod starts are measured, with the proxy and without; 0 measures nothing")
	calls = flag.Int("calls", 2000, "how many pairs of calls are measured")
)

// startReach is how many times as long a pod's start may take with the proxy.
const startReach = 1.03

// TestCost measures what the proxy adds: to calls, each made directly and through it, and to starts of pods, from the request to the API
// server until the container runs by the runtime's own clock. What upstream's kubelet polls for comes after that.
func TestCost(t *testing.T) {
	if *pairs == 0 {
		t.Skip("-pairs 0")
	}
	b := setup(t)
	b.create(t, b.pod("beside"))
	id := strings.TrimPrefix(b.runs(t, "beside").Status.ContainerStatuses[0].ContainerID, "containerd://")
	direct, through := b.dial(t, b.runtime()), b.dial(t, b.socket())
	for _, c := range []struct {
		name string
		call func(ctx context.Context, r runtimeapi.RuntimeServiceClient) error
	}{
		{"Version", func(ctx context.Context, r runtimeapi.RuntimeServiceClient) error {
			_, err := r.Version(ctx, &runtimeapi.VersionRequest{})
			return err
		}},
		{"ContainerStatus", func(ctx context.Context, r runtimeapi.RuntimeServiceClient) error {
			_, err := r.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
			return err
		}},
		{"ListContainers", func(ctx context.Context, r runtimeapi.RuntimeServiceClient) error {
			_, err := r.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
			return err
		}},
	} {
		var added, alone []time.Duration
		for range *calls {
			d, p := took(t, direct, c.call), took(t, through, c.call)
			added, alone = append(added, p-d), append(alone, d)
		}
		slices.Sort(added)
		slices.Sort(alone)
		n := len(added)
		t.Logf("%-16s directly p50 %v; the proxy adds p50 %v, p90 %v", c.name, alone[n/2], added[n/2], added[n*9/10])
	}

	var with, without []float64
	for n := range *pairs {
		modes := []bool{true, false}
		rand.Shuffle(2, func(i, j int) { modes[i], modes[j] = modes[j], modes[i] })
		for _, proxied := range modes {
			d := b.starts(t, proxied, fmt.Sprintf("p%d", n))
			if proxied {
				with = append(with, d)
			} else {
				without = append(without, d)
			}
		}
		t.Logf("pair %d: %.1f ms with, %.1f ms without", n, with[n], without[n])
	}
	ratio := interval.Of(without, with)
	t.Logf("pod start with the proxy against without, %d pairs: %s, ≤ %.2f %s", *pairs, ratio, startReach, ratio.Verdict(startReach))
}

// perSample is how many pods are started for one sample, which is their median, after one that does not count.
const perSample = 5

// starts returns how long a pod's start takes, in milliseconds, by a kubelet that has just connected.
func (b *bench) starts(t *testing.T, proxied bool, name string) float64 {
	t.Helper()
	to := b.runtime()
	if proxied {
		to = b.socket()
	}
	if err := guard.Turn(b.link(), to); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := guard.Turn(b.link(), b.socket()); err != nil {
			t.Fatal(err)
		}
	}()
	if err := b.kubelet(t.Context()); err != nil {
		t.Fatal(err)
	}
	var all []float64
	for i := range perSample + 1 {
		p := b.pod(fmt.Sprintf("%s-%t-%d", name, proxied, i))
		no := false
		p.Spec.AutomountServiceAccountToken = &no // upstream's volume manager polls
		at := time.Now()
		if _, err := b.client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		id := strings.TrimPrefix(b.runs(t, p.Name).Status.ContainerStatuses[0].ContainerID, "containerd://")
		r, err := b.dial(t, b.runtime()).ContainerStatus(t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: id})
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			all = append(all, float64(time.Unix(0, r.GetStatus().GetStartedAt()).Sub(at))/float64(time.Millisecond))
		}
		b.remove(t, p.Name)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func took(t *testing.T, r runtimeapi.RuntimeServiceClient, call func(context.Context, runtimeapi.RuntimeServiceClient) error) time.Duration {
	t.Helper()
	at := time.Now()
	if err := call(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return time.Since(at)
}

func (b *bench) dial(t *testing.T, socket string) runtimeapi.RuntimeServiceClient {
	t.Helper()
	if _, err := os.Stat(socket); err != nil {
		t.Fatal(err)
	}
	c, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() }) //nolint:errcheck // it was only used
	return runtimeapi.NewRuntimeServiceClient(c)
}
