package lab

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// A cluster starts, upstream's kubelet makes its node, a pod runs and finds the
// API server by name; and of all that nothing is left.
func TestClusterUpDown(t *testing.T) {
	ctx := needLab(t)
	dir := filepath.Join(t.TempDir(), "lab")
	c, err := UpCluster(ctx, ClusterConfig{Dir: dir, Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Down(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	if _, err := UpCluster(ctx, ClusterConfig{Dir: dir + "2"}); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a second cluster: %v, want an error that names the first", err)
	}
	a, err := c.StartAgent(ctx, AgentConfig{Kind: Upstream})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	kubectl := func(args ...string) string {
		t.Helper()
		out, err := c.Kubectl(ctx, args...)
		if err != nil {
			t.Errorf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
		}
		return out
	}
	kubectl("run", "probe", "--image=registry.k8s.io/e2e-test-images/agnhost:2.66.1", "--", "netexec")
	kubectl("wait", "--for=condition=Ready", "pod/probe", "--timeout=60s")
	if !poll(ctx, 30*time.Second, 200*time.Millisecond, func() bool {
		out, err := c.Kubectl(ctx, "logs", "probe")
		return err == nil && strings.Contains(out, "Started HTTP server")
	}) {
		t.Errorf("logs: %s", kubectl("logs", "probe"))
	}
	const ask = `cd /var/run/secrets/kubernetes.io/serviceaccount && ` +
		`curl -sS --cacert ca.crt -H "Authorization: Bearer $(cat token)" https://kubernetes.default.svc/api/v1/namespaces/default`
	if out := kubectl("exec", "probe", "--", "sh", "-c", ask); !strings.Contains(out, "system:serviceaccount:default:default") {
		t.Errorf("the API server, asked from the pod, does not know it: %s", out)
	}

	// The agent can be exchanged while the pod continues, and ask for a serving
	// certificate of its own.
	if err := a.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	again, err := OpenCluster(dir)
	if err != nil {
		t.Fatal(err)
	}
	config, err := again.WriteKubeletConfig("serving", ServingBootstrap)
	if err != nil {
		t.Fatal(err)
	}
	approving, stop := context.WithCancel(ctx)
	var approver sync.WaitGroup
	approver.Go(func() { _ = again.ApproveServing(approving) })
	defer approver.Wait()
	defer stop()
	b, err := again.StartAgent(ctx, AgentConfig{Kind: Upstream, KubeletConfig: config})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	if !poll(ctx, 30*time.Second, 200*time.Millisecond, func() bool {
		_, err := c.Kubectl(ctx, "logs", "probe")
		return err == nil
	}) {
		t.Errorf("logs: %s", kubectl("logs", "probe"))
	}
	if out := kubectl("get", "csr", "-o", "wide"); !strings.Contains(out, "kubernetes.io/kubelet-serving") || strings.Contains(out, "Pending") {
		t.Errorf("the agent did not get a serving certificate: %s", out)
	}
	if out := kubectl("get", "pod", "probe", "-o", "jsonpath={.status.containerStatuses[0].restartCount}"); out != "0" {
		t.Errorf("%s restarts of a container after its agent's", out)
	}

	if err := c.Down(ctx); err != nil {
		t.Fatal(err)
	}
	if exists(dir) {
		t.Errorf("%s is left", dir)
	}
	for name, p := range again.state.Cluster.Processes {
		if p.alive() {
			t.Errorf("%s still runs", name)
		}
	}
	if b.Alive() {
		t.Error("the agent still runs")
	}
	for _, table := range []string{"filter", "nat", "mangle"} {
		out, err := exec.CommandContext(ctx, "iptables-save", "-t", table).Output()
		if err == nil && strings.Contains(string(out), "KUBE-") {
			t.Errorf("rules are left in table %s:\n%s", table, out)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || strings.Contains(string(mounts), dir) {
		t.Errorf("mounts are left (%v):\n%s", err, mounts)
	}
}

func TestKubeCleanup(t *testing.T) {
	const saved = `*nat
:PREROUTING ACCEPT [0:0]
:CNI-HOSTPORT-DNAT - [0:0]
:KUBE-SERVICES - [0:0]
:KUBE-SVC-AB - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT
-A KUBE-SERVICES -d 198.18.0.1/32 -p tcp -j KUBE-SVC-AB
COMMIT
`
	want := [][]string{
		{"-D", "PREROUTING", "-m", "comment", "--comment", "kubernetes service portals", "-j", "KUBE-SERVICES"},
		{"-F", "KUBE-SERVICES"},
		{"-F", "KUBE-SVC-AB"},
		{"-X", "KUBE-SERVICES"},
		{"-X", "KUBE-SVC-AB"},
	}
	if diff := cmp.Diff(want, kubeCleanup(saved)); diff != "" {
		t.Error(diff)
	}
}

// Services of different slots share no address, and no port.
func TestClusterSlots(t *testing.T) {
	for slot := range slots - 1 {
		if serviceCIDR(slot).Overlaps(serviceCIDR(slot + 1)) {
			t.Errorf("slots %d and %d share %v", slot, slot+1, serviceCIDR(slot))
		}
	}
	if got := serviceCIDR(slots - 1).String(); got != "198.19.62.0/23" {
		t.Errorf("the last slot has %s", got)
	}
	if portDNSReady >= clusterPorts || firstClusterPort+slots*clusterPorts > 30000 {
		t.Error("the ports of a cluster reach into those of another, or of services")
	}
}

func TestAuthority(t *testing.T) {
	dir := t.TempDir()
	ca, err := newAuthority(dir, "ca")
	if err != nil {
		t.Fatal(err)
	}
	p, err := ca.issue(dir, "node", pkix.Name{CommonName: "system:node:n", Organization: []string{"system:nodes"}}, "n", "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(p.cert)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	for _, name := range []string{"n", "192.0.2.1"} {
		for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth} {
			if _, err := cert.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if info, err := os.Stat(p.key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key: %v, %v", info, err)
	}
}

// The images have the names that the tests ask for, and agnhost what it serves.
func TestE2EImages(t *testing.T) {
	programs, dir := t.TempDir(), t.TempDir()
	for _, name := range []string{
		"agnhost", "nonewprivs", "regression-issue-74839",
		"files/localhost.crt", "files/localhost.key", "files/kitten.jpg", "files/data.json",
	} {
		path := filepath.Join(programs, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pause, err := makeImage(v1.Config{Entrypoint: []string{"/pause"}}, []layerFunc{func(t *tarWriter) { t.file("pause", 0o755, nil) }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := layout.Write(dir, empty.Index); err != nil {
		t.Fatal(err)
	}
	if err := writeE2EImages(dir, e2eParts{busybox: busybox{applets: []string{"sh"}}, pause: pause, programs: programs}); err != nil {
		t.Fatal(err)
	}
	l, err := layout.FromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	index, err := l.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	list, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]v1.Hash)
	for _, desc := range list.Manifests {
		names[desc.Annotations["org.opencontainers.image.ref.name"]] = desc.Digest
	}
	for _, want := range []string{"pause:3.10.2", "e2e-test-images/agnhost:2.66.1", "e2e-test-images/busybox:1.37.0-2", "e2e-test-images/nginx:1.27.0-2"} {
		if _, ok := names[want]; !ok {
			t.Errorf("no image %s among %v", want, names)
		}
	}
	img, err := l.Image(names["e2e-test-images/nonroot:1.5"])
	if err != nil {
		t.Fatal(err)
	}
	if config, err := img.ConfigFile(); err != nil || config.Config.User != "1234" {
		t.Errorf("nonroot: %+v, %v", config, err)
	}
	registry, err := fakeRegistry("pause", "testing", pause)
	if err != nil || len(registry) != 4 {
		t.Errorf("a registry of %d files, %v, want tag, manifest, config and layer", len(registry), err)
	}
}
