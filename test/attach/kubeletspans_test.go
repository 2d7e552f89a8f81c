package attach

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// TestKubeletSpans: attach receives the spans of upstream's kubelet. Those of the syncs of a pod's worker are syncs, the same ones that the log
// has at V4; those of calls are one with what containerd's log and spans tell of them.
func TestKubeletSpans(t *testing.T) {
	b := setup(t)
	at := freeAddress(t)
	config, err := b.WriteKubeletConfig("traced", func(c map[string]any) {
		c["tracing"] = map[string]any{"endpoint": at, "samplingRatePerMillion": 1_000_000}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []int{2, 4} {
		t.Run(fmt.Sprintf("V%d", level), func(t *testing.T) {
			t.Cleanup(func() { b.again(t, 4) })
			b.again(t, level, func(c *lab.AgentConfig) {
				c.KubeletConfig, c.Env = config, []string{"OTEL_BSP_SCHEDULE_DELAY=500"}
			})
			a := b.attach(t, "--otlp-grpc", at, "--otlp-http", fmt.Sprintf("127.0.0.1:%d", b.OTLPPort))
			time.Sleep(5 * time.Second) // how late the spans come is known then
			name := fmt.Sprintf("traced-v%d", level)
			b.startsAndEnds(t, name)
			eventually(t, "the end of "+name, func() string {
				if len(tracedOf(a.recorded(t), name, "pod.sync", "finish")) == 0 {
					return "no sync has finished it"
				}
				return ""
			})
			methods := []string{"RunPodSandbox", "CreateContainer", "StartContainer", "StopContainer", "StopPodSandbox"}
			for _, method := range methods { // a call is told when all have told of it, which may be later than the end
				eventually(t, "the call "+method+" of "+name, func() string {
					if len(tracedOf(a.recorded(t), name, "cri.call", method)) == 0 {
						return "it is not told"
					}
					return ""
				})
			}
			syncs := tracedOf(a.recorded(t), name, "pod.sync", "")
			for _, s := range syncs {
				if s.Observer != "kubelet-span" || (level == 4) != strings.Contains(s.Also, "kubelet-log") {
					t.Errorf("a sync is seen by %s and %q: %+v", s.Observer, s.Also, s)
				}
			}
			if len(syncs) < 3 || syncs[0].Event.Cause != "create" {
				t.Errorf("syncs: %+v", syncs)
			}
			for _, method := range methods {
				calls := tracedOf(a.recorded(t), name, "cri.call", method)
				for _, c := range calls[:min(len(calls), 1)] {
					if c.Observer != "kubelet-span" || !strings.Contains(c.Also, "runtime-span") || !strings.Contains(c.Also, "runtime-log") {
						t.Errorf("%s is seen by %s and %q", method, c.Observer, c.Also)
					}
				}
			}
			t.Log(b.kubeloupe(t, "trace", "default/"+name, "--socket", a.socket))
		})
	}
}

// tracedOf are the ends of a kind of a pod's records, of one method or purpose; "" is all.
func tracedOf(all []seen, pod, kind, which string) []seen {
	return slices.DeleteFunc(all, func(s seen) bool {
		return s.Pod.Name != pod || s.Kind != kind || s.Edge != "end" || which != "" && s.Event.Method != which && s.Event.Why != which
	})
}

// startsAndEnds has a pod run and terminate.
func (b *bench) startsAndEnds(t *testing.T, name string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pod.yaml")
	text := fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec:\n  terminationGracePeriodSeconds: 1\n  containers:\n  - {name: web, image: %q, command: [sleep, \"3600\"]}\n", name, b.Image(lab.ImageBusybox))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"create", "-f", file}, {"wait", "--for=condition=Ready", "--timeout=90s", "pod", name}, {"delete", "--timeout=90s", "pod", name},
	} {
		if out, err := b.Kubectl(t.Context(), args...); err != nil {
			t.Fatalf("kubectl %q: %v: %s", args, err, out)
		}
	}
}

// freeAddress is an address on which nobody listens yet. The kernel gives its port to no connection of others before attach listens there.
func freeAddress(t *testing.T) string {
	t.Helper()
	const first, last = 23000, 24000 // below net.ipv4.ip_local_port_range
	for port := first; port < last; port++ {
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}
