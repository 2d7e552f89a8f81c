package stack

import (
	"fmt"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

const (
	namespace = "kubeloupe-stack"
	deploy    = "../../deploy"
)

// programs are the paths of the images' programs, as in the images that deploy/stack names.
var programs = map[string]string{
	"collector": "otelcol-contrib", "prometheus": "bin/prometheus", "jaeger": "cmd/jaeger/jaeger-linux",
}

// pushImages puts images by the names of deploy/stack into the lab's registry, where the node's containerd looks for those of Docker's.
func (b *bench) pushImages(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deploy, "stack", "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var k struct {
		Images []struct{ Name, NewName, NewTag string }
	}
	if err := yaml.Unmarshal(text, &k); err != nil {
		t.Fatal(err)
	}
	b.images = map[string]string{}
	for _, i := range k.Images {
		if !strings.Contains(i.NewName, "/") {
			i.NewName = "library/" + i.NewName // as Docker's registry has it
		}
		b.images[i.Name] = i.NewName + ":" + i.NewTag
	}
	from := map[string]string{"jaeger": *jaeger}
	if from["collector"], err = lab.BuildCollector(t.Context(), t.Output()); err != nil {
		t.Fatal(err)
	}
	if from["prometheus"], err = lab.BuildPrometheus(t.Context(), t.Output()); err != nil {
		t.Fatal(err)
	}
	for name, file := range from {
		if file != "" {
			b.push(t, b.images[name], programs[name], file)
		}
	}
	if err := b.PushAs(t.Context(), b.images["busybox"], lab.ImageBusybox); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) push(t *testing.T, name, to, from string) {
	t.Helper()
	p := lab.Programs{Files: map[string]string{to: from}, Config: v1.Config{Entrypoint: []string{"/" + to}, Env: []string{"PATH=/" + path.Dir(to)}}}
	if err := b.PushPrograms(t.Context(), name, p); err != nil {
		t.Fatal(err)
	}
}

// overlay writes an overlay that has only what this machine lacks, and returns its directory. DEPLOY in text is that of deploy.
func overlay(t *testing.T, text string) string {
	t.Helper()
	base, err := filepath.Abs(deploy)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if base, err = filepath.Rel(dir, base); err != nil {
		t.Fatal(err)
	}
	text = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n" + strings.ReplaceAll(text, "DEPLOY", base)
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// apply applies deploy/stack, without Grafana, waits until its pods are ready, and returns the overlay.
func (b *bench) apply(t *testing.T) (dir string) {
	t.Helper()
	parts, text := []string{"collector", "prometheus"}, "resources: [DEPLOY/stack]\nreplicas:\n  - {name: grafana, count: 0}\n"
	if *jaeger != "" {
		parts = append(parts, "jaeger")
	} else {
		text += "  - {name: jaeger, count: 0}\n"
	}
	dir = overlay(t, text)
	if out := b.kubectl(t, "apply", "-k", dir); strings.Contains(out, "Warning") {
		t.Errorf("the API server warns: %s", out)
	}
	for _, name := range parts {
		b.rolledOut(t, namespace, "deployment/"+name)
	}
	b.prometheus = b.address(t, "prometheus", "9090")
	if *jaeger != "" {
		b.jaeger = b.address(t, "jaeger", "16686")
	}
	t.Log("\n" + b.kubectl(t, "get", "pods", "-n", namespace, "-o", "wide"))
	return dir
}

// rolledOut waits until the pods of an object run as it is declared.
func (b *bench) rolledOut(t *testing.T, in, what string) {
	t.Helper()
	out, err := b.Kubectl(t.Context(), "rollout", "status", "-n", in, what, "--timeout", time.Until(last(t)).String())
	if err == nil {
		return
	}
	pods, _ := b.Kubectl(t.Context(), "describe", "pods", "-n", in) // for the message
	said, _ := b.Kubectl(t.Context(), "logs", "-n", in, what, "--all-containers")
	t.Fatalf("%s: %v: %s\n%s\n%s", what, err, out, pods, said)
}

// address is that of a Service, as docs/fleet.md finds it.
func (b *bench) address(t *testing.T, service, port string) string {
	t.Helper()
	return b.kubectl(t, "get", "svc", "-n", namespace, service, "-o", "jsonpath={.spec.clusterIP}:"+port)
}

// attach applies the overlay of docs/fleet.md, with the lab's image, and with the lab's kubelet, because there may be others on this machine. It waits
// until attach serves its metrics, and returns the overlay.
func (b *bench) attach(t *testing.T, kubelet int) (dir string) {
	t.Helper()
	const name = "kubeloupe/kubeloupe"
	b.push(t, name+":lab", "ko-app/kubeloupe", b.Binary)
	dir = overlay(t, fmt.Sprintf(`resources: [DEPLOY/attach]
components: [DEPLOY/attach/otlp, DEPLOY/attach/metrics, DEPLOY/stack/attach]
images: [{name: ghcr.io/kubeloupe/kubeloupe, newName: "%s/%s", newTag: lab}]
patches:
  - target: {kind: DaemonSet}
    patch: |
      - {op: add, path: /spec/template/spec/containers/0/args/-, value: --pid=%d}
`, b.Registry, name, kubelet))
	if out := b.kubectl(t, "apply", "-k", dir); strings.Contains(out, "Warning") {
		t.Errorf("the API server warns: %s", out)
	}
	b.kubectl(t, "set", "env", "-n", "kubeloupe", "ds/kubeloupe-attach", "SAMPLING=1")
	b.rolledOut(t, "kubeloupe", "daemonset/kubeloupe-attach")
	eventually(t, "metrics of attach", func() string {
		_, err := get(t.Context(), "http://"+net.JoinHostPort(b.NodeIP, "9464")+"/metrics")
		if err != nil {
			return err.Error()
		}
		return ""
	})
	return dir
}
