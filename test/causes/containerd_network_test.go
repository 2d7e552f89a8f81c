package causes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestContainerdNoNetwork: the network's configuration goes while nothing happens, and comes again.
func TestContainerdNoNetwork(t *testing.T) {
	b := containerd(t)
	n := b.run(t)
	n.set(b.pod("before", lab.ImageBusybox))
	n.reached("before", "ready")
	conf := filepath.Join(b.CNIConfDir, "10-kubeloupe.conflist")
	text, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	restore := func() {
		if err := os.WriteFile(conf, text, 0o600); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(restore) // the pods need it for their end
	if err := os.Remove(conf); err != nil {
		t.Fatal(err)
	}
	n.until("the agent to notice", func(r *trace.Record) bool {
		a, ok := r.Event.(*trace.Agent)
		return ok && a.State == trace.AgentDegraded && strings.Contains(a.Reason, "pod network")
	})
	n.set(b.pod("before", lab.ImageBusybox), b.pod("web", lab.ImageBusybox))
	n.waits("web", trace.WaitRuntime)
	time.Sleep(500 * time.Millisecond) // the condition is that it takes time
	restore()
	n.reached("web", "ready")
	n.speaks("web", "KL07", "the runtime has no pod network")
	n.silent("before", "KL07")
}
