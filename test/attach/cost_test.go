package attach

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

const (
	// many is how many pods start at once; most bounds what attach may take then, as a guest on the node.
	many = 30
	most = 120 << 20
	tick = 10 * time.Millisecond // in which the kernel tells of processor time
)

// TestCost measures attach while many pods start, and when they run. Only memory is judged: the machine is shared.
func TestCost(t *testing.T) {
	if *pairs == 0 {
		t.Skip("a measurement, which takes minutes: make attach-cost")
	}
	b := setup(t)
	a := b.attach(t)
	var manifest strings.Builder
	for i := range many {
		fmt.Fprintf(&manifest, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: cost-%d, labels: {of: cost}}\nspec:\n  terminationGracePeriodSeconds: 1\n  containers:\n  - {name: web, image: %q, command: [sleep, \"3600\"]}\n", i, b.Image(lab.ImageBusybox))
	}
	file := filepath.Join(t.TempDir(), "pods.yaml")
	if err := os.WriteFile(file, []byte(manifest.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cpu, began := a.cpu(t), time.Now()
	if out, err := b.Kubectl(t.Context(), "create", "-f", file); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { // other tests look at a screen of pods
		if out, err := b.Kubectl(context.WithoutCancel(t.Context()), "delete", "--timeout=90s", "pods", "-l", "of=cost"); err != nil {
			t.Errorf("delete: %v: %s", err, out)
		}
	})
	eventually(t, "all pods run", func() string {
		out, err := b.Kubectl(t.Context(), "get", "pods", "-l", "of=cost", "--field-selector=status.phase=Running", "-o", "name")
		if n := strings.Count(string(out), "pod/"); err != nil || n < many {
			return fmt.Sprintf("%d of %d", n, many)
		}
		return ""
	})
	t.Logf("while %d pods start: %.1f %% of a processor, %d MiB, at most %d MiB",
		many, 100*float64(a.cpu(t)-cpu)/float64(time.Since(began)), a.memory(t)>>20, a.resident(t, "VmHWM:")>>20)
	time.Sleep(20 * time.Second) // what is late comes
	cpu, began = a.cpu(t), time.Now()
	time.Sleep(20 * time.Second)
	got := a.memory(t)
	t.Logf("when %d pods run: %.1f %% of a processor, %d MiB", many, 100*float64(a.cpu(t)-cpu)/float64(time.Since(began)), got>>20)
	if got > most {
		t.Errorf("attach takes %d MiB", got>>20)
	}
	t.Log(b.kubeloupe(t, "trace", "--all", "--socket", a.socket))
}

// memory is what attach has resident.
func (a *attached) memory(t *testing.T) int64 { return a.resident(t, "VmRSS:") }

// resident is a figure of attach's resident memory: VmRSS now, VmHWM at most so far.
func (a *attached) resident(t *testing.T, figure string) (n int64) {
	t.Helper()
	for line := range strings.Lines(a.proc(t, "status")) {
		if rest, ok := strings.CutPrefix(line, figure); ok {
			if _, err := fmt.Sscan(rest, &n); err != nil {
				t.Fatal(err)
			}
		}
	}
	return n << 10
}

// cpu is how long attach has computed.
func (a *attached) cpu(t *testing.T) time.Duration {
	t.Helper()
	text := a.proc(t, "stat")
	f := strings.Fields(text[strings.LastIndexByte(text, ')'):])
	var user, system int64
	if _, err := fmt.Sscan(f[12]+" "+f[13], &user, &system); err != nil {
		t.Fatal(err)
	}
	return time.Duration(user+system) * tick
}

func (a *attached) proc(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", a.Process.Pid, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
