package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/test/freeport"
)

// exec runs a command in a pod's container and returns its output.
func (n *node) exec(pod, container string, command ...string) string {
	n.t.Helper()
	for _, c := range n.containers(pod) {
		if c.Metadata.Name != container || c.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
			continue
		}
		r, err := n.runtime.ExecSync(n.ctx(), &runtimeapi.ExecSyncRequest{ContainerId: c.Id, Cmd: command, Timeout: 20})
		if err != nil || r.ExitCode != 0 {
			n.t.Errorf("%v in %s: exit code %d, %v: %s", command, container, r.GetExitCode(), err, r.GetStderr())
		}
		return strings.TrimSpace(string(r.GetStdout()))
	}
	n.t.Errorf("container %s of %s does not run", container, pod)
	return ""
}

// freePort is a TCP port that nobody has.
func freePort(t *testing.T) int {
	t.Helper()
	port, err := freeport.TCP(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func get(t *testing.T, url string) (code int, body string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return r.StatusCode, string(text)
}

// TestIsolation looks at ports, namespaces and security contexts from inside.
func TestIsolation(t *testing.T) {
	n := newNode(t)
	a := n.start()
	port := freePort(t)
	// Ready says that the server listens; without a probe, only that its process runs.
	n.put("ports.yaml", strings.Replace(web, "image: $HTTP", fmt.Sprintf(`image: $HTTP
    ports: [{containerPort: 8080, hostPort: %d}]
    readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}`, port), 1))
	n.put("host.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: host}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: $BUSYBOX, command: $WAIT}]
`)
	n.put("share.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: share}
spec:
  shareProcessNamespace: true
  terminationGracePeriodSeconds: 0
  containers:
  - {name: a, image: $BUSYBOX, command: [sleep, '1234567']}
  - {name: b, image: $BUSYBOX, command: $WAIT}
`)
	n.put("secure.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: secure}
spec:
  terminationGracePeriodSeconds: 0
  securityContext: {runAsUser: 1234, runAsGroup: 2345, supplementalGroups: [3456]}
  containers:
  - name: main
    image: $BUSYBOX
    command: $WAIT
    securityContext: {readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
  - name: priv
    image: $BUSYBOX
    command: $WAIT
    securityContext: {runAsUser: 0, capabilities: {drop: [ALL], add: [NET_ADMIN]}}
`)
	n.put("root.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: root}
spec:
  containers:
  - {name: main, image: $BUSYBOX, command: $WAIT, securityContext: {runAsNonRoot: true}}
`)
	a.ready("web", "host", "share", "secure")

	if code, _ := get(t, fmt.Sprintf("http://%s:%d/", hostAddress(t), port)); code != http.StatusOK {
		t.Errorf("the host port answers with %d", code)
	}
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	if got := n.exec("host", "main", "readlink", "/proc/self/ns/net"); got != own {
		t.Errorf("hostNetwork pod is in %s, the host in %s", got, own)
	}
	if got := n.exec("share", "b", "readlink", "/proc/self/ns/net"); got == own {
		t.Error("a pod without hostNetwork is in the host's network namespace")
	}
	if got := n.exec("share", "b", "ps"); !strings.Contains(got, "sleep 1234567") || !strings.Contains(got, "/pause") {
		t.Errorf("with a shared process namespace b sees:\n%s", got)
	}
	if got := n.exec("secure", "main", "ps"); strings.Contains(got, "/pause") {
		t.Errorf("without a shared process namespace main sees:\n%s", got)
	}
	for command, want := range map[string]string{
		"id -u": "1234", "id -g": "2345", "id -G": "2345 3456",
		"grep CapEff /proc/self/status":     "CapEff:\t0000000000000000",
		"grep NoNewPrivs /proc/self/status": "NoNewPrivs:\t1",
		"touch /x 2>&1 || true":             "touch: /x: Read-only file system",
	} {
		if got := n.exec("secure", "main", "sh", "-c", command); got != want {
			t.Errorf("%s says %q, want %q", command, got, want)
		}
	}
	if got := n.exec("secure", "priv", "sh", "-c", "id -u; grep CapEff /proc/self/status"); got != "0\nCapEff:\t0000000000001000" {
		t.Errorf("in the container with NET_ADMIN: %q", got)
	}
	if got := a.reason("root", "main", "CreateContainerConfigError"); !strings.Contains(got.Message, "container has runAsNonRoot and image will run as root") {
		t.Errorf("message %q", got.Message)
	}
}

// hostAddress is an address of the host that is not on loopback, where portmap may not answer.
func hostAddress(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() && ip.IP.To4() != nil {
			return ip.IP.String()
		}
	}
	t.Fatal("the host has no address")
	return ""
}
