package proxy

import (
	"context"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// BenchmarkAdded measures what the proxy adds to a call: each is made directly and through it, one after the other, and the medians of both
// and of the difference are reported in microseconds.
func BenchmarkAdded(b *testing.B) {
	create := &runtimeapi.CreateContainerRequest{PodSandboxId: "s1", SandboxConfig: web, Config: &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: "web"}, Image: &runtimeapi.ImageSpec{Image: "nginx"},
	}}
	for range 30 {
		create.Config.Envs = append(create.Config.Envs, &runtimeapi.KeyValue{Key: "SOME_SERVICE_PORT", Value: []byte("tcp://10.96.0.1:443")})
		create.Config.Mounts = append(create.Config.Mounts, &runtimeapi.Mount{ContainerPath: "/etc/hosts", HostPath: "/var/lib/kubelet/pods/u1/etc-hosts"})
	}
	f := &fake{}
	for range 100 {
		f.lists.Containers = append(f.lists.Containers, &runtimeapi.Container{Id: "0123456789abcdef0123456789abcdef", Metadata: &runtimeapi.ContainerMetadata{Name: "web"}, Labels: map[string]string{"io.kubernetes.pod.name": "web", "io.kubernetes.pod.uid": "u1"}})
	}
	for _, bench := range []struct {
		name string
		call func(context.Context, runtimeapi.RuntimeServiceClient) error
	}{
		{"Version", func(ctx context.Context, c runtimeapi.RuntimeServiceClient) error {
			_, err := c.Version(ctx, &runtimeapi.VersionRequest{})
			return err
		}},
		{"RunPodSandbox", func(ctx context.Context, c runtimeapi.RuntimeServiceClient) error {
			_, err := c.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: web})
			return err
		}},
		{"CreateContainer", func(ctx context.Context, c runtimeapi.RuntimeServiceClient) error {
			_, err := c.CreateContainer(ctx, create)
			return err
		}},
		{"ListContainers", func(ctx context.Context, c runtimeapi.RuntimeServiceClient) error {
			_, err := c.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
			return err
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			l := begin(b, f, nil)
			var direct, through, added []time.Duration
			took := func(conn *grpc.ClientConn) time.Duration {
				at := time.Now()
				if err := bench.call(b.Context(), runtimeapi.NewRuntimeServiceClient(conn)); err != nil {
					b.Fatal(err)
				}
				return time.Since(at)
			}
			for range 10 { // both are connected
				took(l.direct)
				took(l.conn)
			}
			for b.Loop() {
				d, p := took(l.direct), took(l.conn)
				direct, through, added = append(direct, d), append(through, p), append(added, p-d)
			}
			median := func(all []time.Duration) float64 {
				slices.Sort(all)
				return float64(all[len(all)/2]) / float64(time.Microsecond)
			}
			b.ReportMetric(median(direct), "direct-µs")
			b.ReportMetric(median(through), "through-µs")
			b.ReportMetric(median(added), "added-µs")
		})
	}
}
