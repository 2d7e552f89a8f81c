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
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/inspect/proxy/guard"
	"github.com/kubeloupe/kubeloupe/test/interval"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/podstart"
)

var (
	pairs = flag.Int("pairs", 0, "how many pairs of pod starts by the kubelet are measured, with the proxy and without")
	calls = flag.Int("calls", 0, "how many pairs of calls are measured; 0 measures nothing")
	runs  = flag.Int("starts", 40, "how many pairs of pod starts by calls alone are measured")
	// perSample pods are started for one sample, which is their median.
	perSample = flag.Int("sample", 6, "how many pods the kubelet starts for one sample")
)

// startReach is how many times as long a pod's start may take with the proxy.
const startReach = 1.03

// TestCost measures what the proxy adds: to calls, each made directly and through it, and to starts of pods, from the request to the API
// server until the container runs by the runtime's own clock. What upstream's kubelet polls for comes after that.
func TestCost(t *testing.T) {
	if *calls == 0 {
		t.Skip("-calls 0")
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

	b.starting(t, direct, through)
	if *pairs == 0 {
		return
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

// starting measures what the runtime does of a pod's start, with nothing of a kubelet in between: a sandbox, a container and its start.
func (b *bench) starting(t *testing.T, direct, through runtimeapi.RuntimeServiceClient) {
	t.Helper()
	if err := b.agent.Stop(t.Context()); err != nil { // it ends what it does not know
		t.Fatal(err)
	}
	var with, without []float64
	for n := range *runs {
		for i, r := range rand.Perm(2) {
			name := fmt.Sprintf("start-%d-%d", n, i)
			if r == 0 {
				with = append(with, b.startBy(t, through, direct, name))
			} else {
				without = append(without, b.startBy(t, direct, direct, name))
			}
		}
	}
	ratio := interval.Of(without, with)
	slices.Sort(with)
	slices.Sort(without)
	t.Logf("calls of a pod's start with the proxy against without, %d pairs: p50 %.1f ms against %.1f ms, %s, ≤ %.2f %s",
		*runs, with[len(with)/2], without[len(without)/2], ratio, startReach, ratio.Verdict(startReach))
	if err := b.kubelet(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// startBy returns how long a start takes, in milliseconds, and removes what was started.
func (b *bench) startBy(t *testing.T, by, direct runtimeapi.RuntimeServiceClient, name string) float64 {
	t.Helper()
	sandbox := &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: name}, LogDirectory: b.Dir, Linux: &runtimeapi.LinuxPodSandboxConfig{},
	}
	container := &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: "main"}, Image: &runtimeapi.ImageSpec{Image: b.Image(lab.ImageBusybox)},
		Command: []string{"sleep", "1000"}, LogPath: name + ".log", Linux: &runtimeapi.LinuxContainerConfig{},
	}
	at := time.Now()
	s, err := by.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: sandbox})
	if err != nil {
		t.Fatal(err)
	}
	c, err := by.CreateContainer(t.Context(), &runtimeapi.CreateContainerRequest{PodSandboxId: s.GetPodSandboxId(), Config: container, SandboxConfig: sandbox})
	if err == nil {
		_, err = by.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: c.GetContainerId()})
	}
	if err != nil {
		t.Fatal(err)
	}
	d := time.Since(at)
	_, err = direct.StopPodSandbox(t.Context(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: s.GetPodSandboxId()})
	if _, gone := direct.RemovePodSandbox(t.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: s.GetPodSandboxId()}); err != nil || gone != nil {
		t.Errorf("end %s: %v, %v", name, err, gone)
	}
	return float64(d) / float64(time.Millisecond)
}

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
	s := podstart.Starter{Client: b.client, Runtime: b.dial(t, b.runtime()), Image: b.Image(lab.ImageBusybox)}
	ms, err := s.Median(t.Context(), fmt.Sprintf("%s-%t", name, proxied), *perSample)
	if err != nil {
		t.Fatal(err)
	}
	return ms
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
	t.Cleanup(func() { c.Close() })
	return runtimeapi.NewRuntimeServiceClient(c)
}
