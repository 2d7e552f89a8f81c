package vmtest

import (
	"context"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/test/ginkgoreport"
	"github.com/kubeloupe/kubeloupe/test/lab"
	vmbench "github.com/kubeloupe/kubeloupe/test/vm/bench"
	"github.com/kubeloupe/kubeloupe/test/vm/node"
)

const (
	// linuxTests is how many of the tests are neither for Windows nor left out.
	linuxTests = 3
	// bySSH are tests that compare the answer with what journalctl prints by ssh to the node's name, which does not lead to the node here.
	bySSH = "last three lines|with the pattern container|since the current date"
)

// TestLogQuery runs Kubernetes' own tests of the query of a node's logs, under upstream's kubelet and under kubeloupe. They ask the agent for the
// journal of the unit kubelet.
func TestLogQuery(t *testing.T) {
	b := setup(t)
	program, err := lab.ConformanceTests(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var approver sync.WaitGroup
	approver.Go(func() { _ = b.ApproveServing(ctx) }) // the API server checks the agents' certificates
	defer approver.Wait()
	defer cancel()
	b.Run(t, "cp /var/lib/kubelet/config.yaml /root/config.before; printf 'serverTLSBootstrap: true\nenableSystemLogQuery: true\n' >> /var/lib/kubelet/config.yaml")
	b.later(t, "cp /root/config.before /var/lib/kubelet/config.yaml; systemctl restart kubeloupe")
	for _, a := range []node.Agent{node.Kubelet, node.Kubeloupe} {
		b.Run(t, "systemctl restart "+string(a))
		b.made(t, a)
		vmbench.Eventually(t, "the API server reaches "+string(a), func() string {
			out, err := b.Kubectl(t.Context(), "get", "--raw", "/api/v1/nodes/"+node.Name+"/proxy/healthz")
			if err != nil || out != "ok" {
				return out
			}
			return ""
		})
		begin := time.Now()
		passed, failed := 0, 0
		for _, r := range b.e2e(t, program, "NodeLogQuery") {
			switch {
			case r.State == ginkgoreport.Passed:
				passed++
			case r.State != ginkgoreport.Skipped: // those for Windows
				failed++
				t.Logf("%s, %s: %s: %s", a, r.Name, r.State, r.Message)
			}
		}
		t.Logf("%s: %d tests passed and %d failed in %s", a, passed, failed, time.Since(begin).Round(time.Second))
		if failed > 0 || passed != linuxTests {
			t.Errorf("%s: %d tests passed, %d failed", a, passed, failed)
		}
	}
}

// e2e runs Kubernetes' tests with a label, against the cluster.
func (b *bench) e2e(t *testing.T, program, focus string) []ginkgoreport.Test {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), program,
		"--ginkgo.focus="+focus, "--ginkgo.skip="+bySSH, "--ginkgo.no-color", "--ginkgo.timeout=30m", "--ginkgo.json-report="+filepath.Join(dir, "report.json"),
		"--provider=skeleton", "--kubeconfig="+b.Kubeconfig, "--kubectl-path="+b.Program("kubectl"), "--num-nodes=1", "--dns-domain=cluster.local")
	cmd.Dir = dir
	out, failed := cmd.CombinedOutput()
	all, err := ginkgoreport.Read(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatalf("%v: %v\n%s", err, failed, out[max(0, len(out)-4<<10):])
	}
	if failed != nil {
		t.Logf("%v\n%s", failed, out[max(0, len(out)-8<<10):])
	}
	return all
}
