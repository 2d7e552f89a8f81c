package cluster

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// overlays are what people apply of deploy, by the components of deploy/attach that they add; nil: deploy/stack.
var overlays = map[string][]string{
	"stack":    nil,
	"attach":   {},
	"api":      {"attach/api"},
	"otlp":     {"attach/otlp"},
	"otlp-tls": {"attach/otlp", "attach/otlp-tls"},
	"metrics":  {"attach/metrics"},
	"example":  {"attach/otlp", "attach/metrics", "stack/attach"},
	"all":      {"attach/api", "attach/otlp", "attach/otlp-tls", "attach/metrics", "stack/attach"},
}

// TestDeploy has the API server judge all of deploy: kubectl builds it, strictly, and the server admits it, with a warning of Pod Security
// admission where a pod needs more rights than its namespace permits. Nothing but the namespaces is created.
func TestDeploy(t *testing.T) {
	b := setup(t)
	dir := t.TempDir()
	deploy, err := filepath.Abs("../../deploy")
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(filepath.Join(dir, "x"), deploy)
	if err != nil {
		t.Fatal(err)
	}
	// kubectl reads it, of which go test knows nothing when it decides whether to repeat a result.
	if err := filepath.WalkDir(deploy, func(_ string, _ fs.DirEntry, err error) error { return err }); err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{"attach", "stack"} {
		file := filepath.Join(deploy, of, "namespace.yaml")
		if out, err := b.Kubectl(t.Context(), "apply", "-f", file); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		t.Cleanup(func() {
			if out, err := b.Kubectl(context.WithoutCancel(t.Context()), "delete", "--wait=false", "-f", file); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	// The namespace enforces what its pods may need; Pod Security admission warns of a Deployment only with this label.
	if out, err := b.Kubectl(t.Context(), "label", "namespace", "kubeloupe-stack", "pod-security.kubernetes.io/warn=restricted"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, components := range overlays {
		t.Run(name, func(t *testing.T) {
			of := filepath.Join(deploy, "stack")
			if components != nil {
				of = filepath.Join(dir, name)
				overlay(t, of, relative, components)
			}
			out, err := b.Kubectl(t.Context(), "apply", "--dry-run=server", "--validate=strict", "-k", of)
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for line := range strings.Lines(out) {
				if !strings.HasSuffix(strings.TrimSpace(line), "(server dry run)") {
					t.Errorf("kubectl says: %s", line)
				}
			}
			want := []string{"daemonset.apps/kubeloupe-attach created"}
			if components == nil {
				want = []string{"deployment.apps/collector created", "deployment.apps/jaeger created", "deployment.apps/prometheus created", "deployment.apps/grafana created"}
			}
			if i := slices.IndexFunc(want, func(w string) bool { return !strings.Contains(out, w) }); i >= 0 {
				t.Errorf("no %q in\n%s", want[i], out)
			}
		})
	}
}

// overlay writes an overlay of deploy/attach with components.
func overlay(t *testing.T, dir, deploy string, components []string) {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [%s/attach]\n", deploy)
	if len(components) > 0 {
		fmt.Fprintf(&text, "components: [%s/%s]\n", deploy, strings.Join(components, ", "+deploy+"/"))
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
