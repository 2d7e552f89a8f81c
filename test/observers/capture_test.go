package observers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

const (
	// burst is how many pods start at once, after the others.
	burst = 30
	// deadline is how long one thing may take on a machine that is busy.
	deadline = 4 * time.Minute
	// settles is how long nothing changes before pods are deleted: observers wait ten seconds for another container.
	settles = 13 * time.Second
)

// The files of a capture.
const (
	kubeletLog    = "kubelet.log"
	containerdLog = "containerd.log"
	proxyFile     = "proxy.klr"
	liveFile      = "live.klr"
	spansFile     = "spans.klr"
	namesFile     = "names.json"
)

// capture has the pods start under a kubelet with a verbosity, behind a proxy, with two attaches beside, of which one receives spans, and keeps what
// each of them wrote.
func (b *bench) capture(t *testing.T, level int, to string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	b.forget(t, b.Image(lab.Image60M))
	socket := filepath.Join(t.TempDir(), "cri.sock")
	endProxy := b.start(t, filepath.Join(to, "proxy.log"), "proxy", "--runtime", strings.TrimPrefix(b.RuntimeEndpoint, "unix://"),
		"--listen", socket, "--record", filepath.Join(to, proxyFile))
	b.eventually(t, "the proxy's socket", func() error {
		_, err := os.Stat(socket)
		return err
	})
	name, traced := fmt.Sprintf("v%d", level), freeAddress(t)
	config, err := b.WriteKubeletConfig(name, func(c map[string]any) {
		c["containerRuntimeEndpoint"] = "unix://" + socket
		c["tracing"] = map[string]any{"endpoint": traced, "samplingRatePerMillion": 1_000_000}
	})
	if err != nil {
		t.Fatal(err)
	}
	kubelet, err := program(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	runtime := size(t, b.ContainerdLog)
	a, err := b.StartAgent(t.Context(), lab.AgentConfig{
		Kind: lab.Upstream, Program: kubelet, State: name, KubeletConfig: config, Args: []string{"--v=" + strconv.Itoa(level)}, Env: []string{"OTEL_BSP_SCHEDULE_DELAY=1000"}, Log: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	stop := func() {
		if err := a.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}
	if err := a.WaitReady(t.Context()); err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(stop)
	attach := func(log, file string, args ...string) (end func()) {
		return b.start(t, filepath.Join(to, log), append([]string{
			"attach", "--no-tui", "--pid", strconv.Itoa(a.PID()), "--control-socket", "none", "--record", filepath.Join(to, file),
			"--container-runtime-endpoint", b.RuntimeEndpoint, "--runtime-log", b.ContainerdLog,
		}, args...)...)
	}
	endAttach := attach("attach.log", liveFile)
	endSpans := attach("spans.log", spansFile, "--otlp-grpc", traced, "--otlp-http", fmt.Sprintf("127.0.0.1:%d", b.OTLPPort))

	b.pods(t, name, filepath.Join(to, namesFile))
	endAttach()
	endSpans()
	endProxy()
	keep(t, a.LogFile, 0, filepath.Join(to, kubeletLog))
	keep(t, b.ContainerdLog, runtime, filepath.Join(to, containerdLog))
}

// pods has the pods start in a namespace, one after the other and many at once, and deletes them. It writes their names by UID.
func (b *bench) pods(t *testing.T, ns, names string) {
	t.Helper()
	b.kubectl(t, "create", "namespace", ns)
	b.kubectl(t, "create", "-n", ns, "configmap", "settings", "--from-literal=greeting=hello")
	b.kubectl(t, "create", "-n", ns, "secret", "generic", "password", "--from-literal=password=none")
	b.eventually(t, "the service account", func() error {
		_, err := b.client.CoreV1().ServiceAccounts(ns).Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	text := strings.NewReplacer("${BUSYBOX}", b.Image(lab.ImageBusybox), "${HTTP}", b.Image(lab.ImageHTTP), "${LARGE}", b.Image(lab.Image60M)).Replace(manifest)
	for i, doc := range strings.Split(text, "\n---\n") {
		b.create(t, ns, doc)
		b.running(t, ns, i+1)
		time.Sleep(2 * time.Second) // alone
	}
	time.Sleep(settles)
	uids := map[string]string{}
	for _, name := range b.uids(t, ns, uids) {
		b.kubectl(t, "delete", "-n", ns, "pod", name, "--timeout=2m")
	}
	var many strings.Builder
	for i := range burst {
		fmt.Fprintf(&many, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: many-%d}\nspec:\n  terminationGracePeriodSeconds: 1\n  containers:\n  - {name: main, image: %q, command: [sleep, \"1000\"]}\n", i, b.Image(lab.ImageBusybox))
	}
	b.create(t, ns, many.String())
	b.running(t, ns, burst)
	time.Sleep(settles)
	b.uids(t, ns, uids)
	out, err := json.Marshal(uids)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(names, out, 0o644); err != nil {
		t.Fatal(err)
	}
	b.kubectl(t, "delete", "-n", ns, "pods", "--all", "--timeout=3m")
	b.kubectl(t, "delete", "namespace", ns, "--timeout=2m")
}

// freeAddress is an address on which nobody listens yet.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// uids adds the pods of a namespace, and returns their names.
func (b *bench) uids(t *testing.T, ns string, to map[string]string) (names []string) {
	t.Helper()
	list, err := b.client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Items {
		to[string(p.UID)] = p.Namespace + "/" + p.Name
		names = append(names, p.Name)
	}
	return names
}

// create creates what a text describes.
func (b *bench) create(t *testing.T, ns, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pods.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b.kubectl(t, "create", "-n", ns, "-f", file)
}

// running waits until so many pods of a namespace have started once, and are ready if they have a probe.
func (b *bench) running(t *testing.T, ns string, want int) {
	t.Helper()
	b.eventually(t, "the pods", func() error {
		list, err := b.client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		n := 0
		for _, p := range list.Items {
			all := len(p.Status.ContainerStatuses) == len(p.Spec.Containers)
			for _, c := range p.Status.ContainerStatuses {
				all = all && (c.Ready || c.RestartCount > 0)
			}
			if all {
				n++
			}
		}
		if n < want {
			return fmt.Errorf("%d of %d started", n, want)
		}
		return nil
	})
}

// eventually tries until there is no error.
func (b *bench) eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	for end := time.Now().Add(deadline); ; time.Sleep(100 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// forget removes an image from the node.
func (b *bench) forget(t *testing.T, image string) {
	t.Helper()
	conn, err := b.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := runtimeapi.NewImageServiceClient(conn).RemoveImage(t.Context(), &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: image}}); err != nil {
		t.Fatal(err)
	}
}

func size(t *testing.T, file string) int64 {
	t.Helper()
	st, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}

// keep copies a log from an offset on, which is the end of a line.
func keep(t *testing.T, log string, from int64, to string) {
	t.Helper()
	in, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := in.Seek(from, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
}
