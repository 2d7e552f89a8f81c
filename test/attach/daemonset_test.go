package attach

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// TestDaemonSet applies deploy/attach to the cluster: attach finds the kubelet from within its pod, the other commands and the UI work in
// it by kubectl exec, and a named log file is read as a found one.
func TestDaemonSet(t *testing.T) {
	t.Parallel()
	b := setup(t)
	overlay := b.overlay(t, b.push(t))
	b.kubectl(t, "apply", "-k", overlay)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		if out, err := b.Kubectl(ctx, "delete", "--wait=true", "-k", overlay); err != nil {
			t.Errorf("delete: %v: %s", err, out)
		}
	})
	b.rolledOut(t)
	t.Log(b.inPod(t, "kubeloupe", "attach", "--check", "--pid", strconv.Itoa(b.kubelet.PID())))
	b.create(t, "in-cluster")
	b.eventuallyInPod(t, "start    web", "kubeloupe", "trace", "default/in-cluster")
	b.eventuallyInPod(t, "in-cluster", "kubeloupe", "inspect", "pods")
	t.Log(b.inPod(t, "kubeloupe", "why", "default/in-cluster"))
	b.ui(t)

	// Where attach cannot find the log, its file is named, by its path on the node.
	b.kubectl(t, "set", "env", "-n", "kubeloupe", "ds/kubeloupe-attach", "KUBELET_LOG="+b.kubelet.LogFile, "RUNTIME_LOG="+b.ContainerdLog)
	b.rolledOut(t)
	b.create(t, "named-log")
	b.eventuallyInPod(t, "start    web", "kubeloupe", "trace", "default/named-log")
	said := b.kubectl(t, "logs", "-n", "kubeloupe", "ds/kubeloupe-attach")
	if strings.Contains(said, "cannot be read") || strings.Contains(said, "cannot look at this attach") {
		t.Errorf("attach said:\n%s", said)
	}

	// Without the capability, the kubelet cannot be looked at.
	b.kubectl(t, "patch", "-n", "kubeloupe", "ds/kubeloupe-attach", "--type=json", "-p",
		`[{"op": "test", "path": "/spec/template/spec/containers/0/securityContext/capabilities/add/0", "value": "SYS_PTRACE"},
		{"op": "remove", "path": "/spec/template/spec/containers/0/securityContext/capabilities/add/0"}]`)
	eventually(t, "attach says what is missing", func() string {
		out, err := b.Kubectl(t.Context(), "logs", "-n", "kubeloupe", "ds/kubeloupe-attach", "--tail=5")
		if err != nil || !strings.Contains(out, "CAP_SYS_PTRACE") {
			return fmt.Sprint(err, " ", out)
		}
		return ""
	})
}

// TestDaemonSetAPI applies the component with rights on the API: attach reads Events, pods and the kubelet's API by its own service account.
func TestDaemonSetAPI(t *testing.T) {
	b := setup(t)
	api, err := url.Parse(b.Server)
	if err != nil {
		t.Fatal(err)
	}
	overlay := b.overlay(t, b.push(t))
	component, err := filepath.Abs("../../deploy/attach/api")
	if err != nil {
		t.Fatal(err)
	}
	if component, err = filepath.Rel(overlay, component); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(overlay, "kustomization.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// The lab's node has no kube-proxy: the API server is at its own address.
	text = fmt.Appendf(text, `    - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: KUBERNETES_SERVICE_HOST, value: %q}}
    - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: KUBERNETES_SERVICE_PORT, value: %q}}
components: [%q]
`, api.Hostname(), api.Port(), component)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	b.kubectl(t, "apply", "-k", overlay)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		if out, err := b.Kubectl(ctx, "delete", "--wait=true", "-k", overlay); err != nil {
			t.Errorf("delete: %v: %s", err, out)
		}
	})
	b.rolledOut(t)
	t.Log(b.inPod(t, "kubeloupe", "attach", "--check", "--in-cluster", "--pid", strconv.Itoa(b.kubelet.PID())))
	b.create(t, "with-events")
	b.eventuallyInPod(t, "Successfully assigned default/with-events", "kubeloupe", "events", "-o", "json")
	b.eventuallyInPod(t, "start    web", "kubeloupe", "trace", "default/with-events")
	var said string // by attach itself, not by the kubelet's log
	eventually(t, "attach says that it has read the kubelet's settings", func() string {
		said = ""
		for line := range strings.Lines(b.kubectl(t, "logs", "-n", "kubeloupe", "ds/kubeloupe-attach")) {
			if strings.Contains(line, "attach: ") {
				said += line
			}
		}
		if !strings.Contains(said, "the kubelet's settings in use") {
			return said
		}
		return ""
	})
	if strings.Contains(said, "permit") || strings.Contains(said, "cannot be read") {
		t.Errorf("attach said:\n%s", said)
	}
	for _, may := range []string{"get secrets", "list nodes", "create pods", "get nodes/proxy", "delete pods"} {
		out, _ := b.Kubectl(t.Context(), append([]string{"auth", "can-i", "--as=system:serviceaccount:kubeloupe:kubeloupe-attach"}, strings.Fields(may)...)...) // no ends with 1
		if !strings.HasSuffix(strings.TrimSpace(out), "no") {                                                                                                   // a warning may stand before it
			t.Errorf("%s: %s", may, out)
		}
	}
}

// TestDebugNode opens attach's own UI by kubectl debug.
func TestDebugNode(t *testing.T) {
	t.Parallel()
	b := setup(t)
	image := b.push(t) + ":lab"
	b.create(t, "by-debug")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		if out, err := b.Kubectl(ctx, "delete", "pods", "-l", "app.kubernetes.io/managed-by=kubectl-debug"); err != nil {
			t.Errorf("delete: %v: %s", err, out)
		}
	})
	b.terminal(t, "by-debug", "debug", "node/"+lab.NodeName, "-it", "--profile=sysadmin", "--image="+image,
		"--", "kubeloupe", "attach", "--view", "pods", "--pid", strconv.Itoa(b.kubelet.PID()))
}

// push builds the image as ko does, without its base, and pushes it to the lab's registry, once.
func (b *bench) push(t *testing.T) (repository string) {
	t.Helper()
	b.pushing.Lock()
	defer b.pushing.Unlock()
	if b.pushed != "" {
		return b.pushed
	}
	program, err := os.ReadFile(b.Binary)
	if err != nil {
		t.Fatal(err)
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for _, h := range []tar.Header{
		{Typeflag: tar.TypeDir, Name: "run/", Mode: 0o755},
		{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777},
		{Typeflag: tar.TypeDir, Name: "ko-app/", Mode: 0o555},
		{Typeflag: tar.TypeReg, Name: "ko-app/kubeloupe", Mode: 0o555, Size: int64(len(program))},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Write(program); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, l)
	if err != nil {
		t.Fatal(err)
	}
	img, err = mutate.ConfigFile(img, configOf(t, img))
	if err != nil {
		t.Fatal(err)
	}
	repository = b.Registry + "/kubeloupe/attach"
	config, err := img.RawConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	compressed, err := l.Compressed()
	if err != nil {
		t.Fatal(err)
	}
	packed, err := io.ReadAll(compressed)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := img.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	api := "http://" + b.Registry + "/v2/kubeloupe/attach"
	for _, blob := range [][]byte{config, packed} {
		at := request(t, http.MethodPost, api+"/blobs/uploads/", "", nil).Get("Location")
		up, err := url.Parse(api)
		if err == nil {
			up, err = up.Parse(at)
		}
		if err != nil {
			t.Fatal(err)
		}
		up.RawQuery = url.Values{"digest": {fmt.Sprintf("sha256:%x", sha256.Sum256(blob))}}.Encode()
		request(t, http.MethodPut, up.String(), "application/octet-stream", blob)
	}
	request(t, http.MethodPut, api+"/manifests/lab", string(types.DockerManifestSchema2), manifest)
	b.pushed = repository
	return repository
}

func request(t *testing.T, method, to, kind string, body []byte) http.Header {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, to, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %s: %s %v", method, to, resp.Status, said, err)
	}
	return resp.Header
}

func configOf(t *testing.T, img v1.Image) *v1.ConfigFile {
	t.Helper()
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c = c.DeepCopy()
	c.OS, c.Architecture = "linux", runtime.GOARCH
	c.Config = v1.Config{
		Entrypoint: []string{"/ko-app/kubeloupe"}, User: "0", WorkingDir: "/",
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/ko-app", "KO_DATA_PATH=/var/run/ko"},
	}
	return c
}

// overlay makes an overlay of deploy/attach for the lab: its image, and its kubelet, as there may be others on this machine.
func (b *bench) overlay(t *testing.T, repository string) string {
	t.Helper()
	base, err := filepath.Abs("../../deploy/attach")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if base, err = filepath.Rel(dir, base); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [%q]
images: [{name: ghcr.io/kubeloupe/kubeloupe, newName: %q, newTag: lab}]
patches:
- target: {kind: DaemonSet}
  patch: |
    - {op: add, path: /spec/template/spec/containers/0/args/-, value: --pid=%d}
`, base, repository, b.kubelet.PID())
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (b *bench) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	out, err := b.Kubectl(ctx, args...)
	if err != nil {
		t.Fatalf("kubectl %q: %v: %s", args, err, out)
	}
	return out
}

// rolledOut waits until the DaemonSet's pod runs as it is declared.
func (b *bench) rolledOut(t *testing.T) {
	t.Helper()
	out, err := b.Kubectl(t.Context(), "rollout", "status", "-n", "kubeloupe", "ds/kubeloupe-attach", "--timeout", deadline.String())
	if err == nil {
		return
	}
	pods, _ := b.Kubectl(t.Context(), "describe", "pods", "-n", "kubeloupe") // for the message
	said, _ := b.Kubectl(t.Context(), "logs", "-n", "kubeloupe", "ds/kubeloupe-attach")
	t.Fatalf("%v: %s\n%s\n%s", err, out, pods, said)
}

var inPod = []string{"exec", "-n", "kubeloupe", "ds/kubeloupe-attach", "--"}

// inPod runs a command in the DaemonSet's pod.
func (b *bench) inPod(t *testing.T, command ...string) string {
	t.Helper()
	return b.kubectl(t, append(slices.Clip(inPod), command...)...)
}

func (b *bench) eventuallyInPod(t *testing.T, want string, command ...string) {
	t.Helper()
	var text string
	eventually(t, fmt.Sprintf("%q in %q", want, command), func() string {
		out, err := b.Kubectl(t.Context(), append(slices.Clip(inPod), command...)...)
		if text = out; err != nil || !strings.Contains(text, want) || strings.Contains(text, "not started") {
			return fmt.Sprint(err, " ", text)
		}
		return ""
	})
	t.Log(text)
}

// ui opens the UI in the pod from a terminal, sees the pods in it, and quits.
func (b *bench) ui(t *testing.T) {
	t.Helper()
	b.terminal(t, "in-cluster", append([]string{"exec", "-it"}, append(slices.Clip(inPod[1:]), "kubeloupe", "tui", "--view", "pods")...)...)
}

// terminal runs kubectl in a terminal, until the UI of an attach shows a pod, and quits it.
func (b *bench) terminal(t *testing.T, pod string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	c := exec.CommandContext(ctx, b.Program("kubectl"), args...)
	c.Env = append(os.Environ(), "KUBECONFIG="+b.Kubeconfig, "TERM=xterm-256color")
	tty, err := pty.StartWithSize(c, &pty.Winsize{Rows: 30, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	var mu sync.Mutex
	var screen bytes.Buffer
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			mu.Lock()
			screen.Write(buf[:n])
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	shown := func() string {
		mu.Lock()
		defer mu.Unlock()
		return screen.String()
	}
	eventually(t, "the pod in the UI", func() string {
		if text := shown(); !strings.Contains(text, pod) || !strings.Contains(text, "ATTACHED") {
			return fmt.Sprintf("%q", text)
		}
		return ""
	})
	if _, err := tty.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	select { // ctx ends it
	case err := <-done:
		if err != nil {
			t.Errorf("kubectl %q: %v\n%q", args, err, shown())
		}
	case <-time.After(2 * deadline):
		t.Errorf("the UI does not quit\n%q", shown())
	}
}
