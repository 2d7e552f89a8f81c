package promcheck

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/config"
	"go.yaml.in/yaml/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// stack is what deploy/stack applies, by kind.
type stack struct {
	deployments map[string]*appsv1.Deployment
	services    map[string]*corev1.Service
	configs     map[string]*corev1.ConfigMap
	roles       map[string]*rbacv1.ClusterRole
}

func sorted(t *testing.T, objects []runtime.Object) *stack {
	t.Helper()
	s := &stack{map[string]*appsv1.Deployment{}, map[string]*corev1.Service{}, map[string]*corev1.ConfigMap{}, map[string]*rbacv1.ClusterRole{}}
	for _, o := range objects {
		switch o := o.(type) {
		case *appsv1.Deployment:
			s.deployments[o.Name] = o
		case *corev1.Service:
			s.services[o.Name] = o
		case *corev1.ConfigMap:
			s.configs[o.Name] = o
		case *rbacv1.ClusterRole:
			s.roles[o.Name] = o
		case *corev1.Namespace, *corev1.ServiceAccount, *rbacv1.ClusterRoleBinding:
		default:
			t.Errorf("an object of another kind: %T", o)
		}
	}
	return s
}

// TestStack builds deploy/stack and checks what its pods may do, and that they find their configuration and each other.
func TestStack(t *testing.T) {
	objects, err := build("../../deploy/stack")
	if err != nil {
		t.Fatal(err)
	}
	s := sorted(t, objects)
	if len(s.deployments) != 4 || len(s.configs) != 6 {
		t.Fatalf("%d Deployments, %d ConfigMaps", len(s.deployments), len(s.configs))
	}
	for name, d := range s.deployments {
		pod := &d.Spec.Template.Spec
		for _, wrong := range checkPod(pod) {
			t.Errorf("%s: %s", name, wrong)
		}
		for _, v := range pod.Volumes {
			if v.ConfigMap != nil && s.configs[v.ConfigMap.Name] == nil {
				t.Errorf("%s: no ConfigMap %s", name, v.ConfigMap.Name)
			}
		}
		svc := s.services[name]
		if svc == nil || svc.Spec.Selector["app.kubernetes.io/name"] != d.Spec.Template.Labels["app.kubernetes.io/name"] {
			t.Errorf("%s: no Service selects it", name)
		}
		if *pod.AutomountServiceAccountToken != (name == "prometheus") {
			t.Errorf("%s: a token: %t", name, *pod.AutomountServiceAccountToken)
		}
	}
	for name, r := range s.roles {
		for _, rule := range r.Rules {
			for _, verb := range rule.Verbs {
				if !slices.Contains([]string{"get", "list", "watch"}, verb) || slices.Contains(rule.Resources, "nodes/proxy") || slices.Contains(rule.Resources, "secrets") {
					t.Errorf("%s may %s %q", name, verb, rule.Resources)
				}
			}
		}
	}
	s.checkPrometheus(t)
	s.checkGrafana(t)
	s.checkCollectors(t)
}

// config returns a file as a container of a Deployment sees it.
func (s *stack) config(t *testing.T, deployment, path string) string {
	t.Helper()
	pod := s.deployments[deployment].Spec.Template.Spec
	for _, m := range pod.Containers[0].VolumeMounts {
		key := filepath.Base(path)
		if m.MountPath != filepath.Dir(path) && (m.MountPath != path || m.SubPath != key) {
			continue
		}
		for _, v := range pod.Volumes {
			if v.Name == m.Name && v.ConfigMap != nil {
				if text := s.configs[v.ConfigMap.Name].Data[key]; text != "" {
					return text
				}
			}
		}
	}
	t.Fatalf("%s has no file %s", deployment, path)
	return ""
}

// reachable checks that a Service has a port, as HOST:PORT, and that its pod has it too.
func (s *stack) reachable(t *testing.T, from, at string) {
	t.Helper()
	name, port, _ := strings.Cut(at, ":")
	if svc := s.services[name]; svc != nil {
		for _, p := range svc.Spec.Ports {
			for _, c := range s.deployments[name].Spec.Template.Spec.Containers[0].Ports {
				if fmt.Sprint(p.Port) == port && p.TargetPort.StrVal == c.Name && c.ContainerPort == p.Port {
					return
				}
			}
		}
	}
	t.Errorf("%s: nobody serves %s", from, at)
}

func (s *stack) checkPrometheus(t *testing.T) {
	args := s.deployments["prometheus"].Spec.Template.Spec.Containers[0].Args
	for _, want := range []string{"--config.file=/etc/prometheus/prometheus.yaml", "--enable-feature=exemplar-storage"} {
		if !slices.Contains(args, want) {
			t.Errorf("prometheus: no %s", want)
		}
	}
	cfg, err := config.Load(s.config(t, "prometheus", "/etc/prometheus/prometheus.yaml"), promslog.NewNopLogger())
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.ScrapeConfigs) != 2 || len(cfg.RuleFiles) != 1 {
		t.Fatalf("%d scrape configurations, rules %q", len(cfg.ScrapeConfigs), cfg.RuleFiles)
	}
	for _, sc := range cfg.ScrapeConfigs {
		if !sc.ScrapeNativeHistogramsEnabled() || len(sc.ServiceDiscoveryConfigs) != 1 {
			t.Errorf("%s: native histograms %t, %d ways to find targets", sc.JobName, sc.ScrapeNativeHistogramsEnabled(), len(sc.ServiceDiscoveryConfigs))
		}
	}
	rules := s.config(t, "prometheus", filepath.Join(filepath.Dir(cfg.RuleFiles[0]), "kubeloupe.rules.yaml"))
	if ok, err := filepath.Match(filepath.Base(cfg.RuleFiles[0]), "kubeloupe.rules.yaml"); !ok || err != nil || rules != read(t, rulesFile) {
		t.Errorf("prometheus: other rules: %v", err)
	}
}

// provisioning is what Grafana reads at its start, as far as the stack uses it.
type provisioning struct {
	APIVersion  int `yaml:"apiVersion"`
	Datasources []struct {
		Name, UID, Type, Access, URL string
		IsDefault                    bool `yaml:"isDefault"`
		JSONData                     struct {
			HTTPMethod   string `yaml:"httpMethod"`
			TimeInterval string `yaml:"timeInterval"`
			Exemplars    []struct {
				Name          string `yaml:"name"`
				DatasourceUID string `yaml:"datasourceUid"`
				Label         string `yaml:"urlDisplayLabel"`
			} `yaml:"exemplarTraceIdDestinations"`
		} `yaml:"jsonData"`
	}
	Providers []struct {
		Name, Type     string
		AllowUIUpdates bool `yaml:"allowUiUpdates"`
		Options        struct{ Path string }
	}
}

func strictly(t *testing.T, text string, into any) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Fatal(err)
	}
}

func (s *stack) checkGrafana(t *testing.T) {
	var p, boards provisioning
	strictly(t, s.config(t, "grafana", "/etc/grafana/provisioning/datasources/datasources.yaml"), &p)
	strictly(t, s.config(t, "grafana", "/etc/grafana/provisioning/dashboards/dashboards.yaml"), &boards)
	kinds := map[string]string{}
	linked := ""
	for _, d := range p.Datasources {
		kinds[d.UID] = d.Type
		s.reachable(t, "grafana", strings.TrimPrefix(d.URL, "http://"))
		for _, e := range d.JSONData.Exemplars {
			if d.Type == "prometheus" && e.Name == "trace_id" {
				linked = e.DatasourceUID
			}
		}
	}
	if kinds[linked] != "jaeger" || kinds["prometheus"] != "prometheus" {
		t.Errorf("exemplars lead to %q of %v", linked, kinds)
	}
	if len(boards.Providers) != 1 || s.config(t, "grafana", filepath.Join(boards.Providers[0].Options.Path, "pod-starts.json")) != read(t, dashboardFile) {
		t.Errorf("providers: %+v", boards.Providers)
	}
}

// collector is a configuration of the OpenTelemetry Collector, or of Jaeger.
type collector struct {
	Receivers, Processors, Exporters, Extensions map[string]map[string]any
	Service                                      struct {
		Extensions []string
		Telemetry  map[string]any
		Pipelines  map[string]struct{ Receivers, Processors, Exporters []string }
	}
}

// check checks that a configuration uses what it defines, and nothing else.
func (c *collector) check(t *testing.T, of string) {
	t.Helper()
	used := map[string][]string{"extension": c.Service.Extensions}
	for _, p := range c.Service.Pipelines {
		used["receiver"] = append(used["receiver"], p.Receivers...)
		used["processor"] = append(used["processor"], p.Processors...)
		used["exporter"] = append(used["exporter"], p.Exporters...)
	}
	for kind, defined := range map[string]map[string]map[string]any{"receiver": c.Receivers, "processor": c.Processors, "exporter": c.Exporters, "extension": c.Extensions} {
		for name := range defined {
			if !slices.Contains(used[kind], name) {
				t.Errorf("%s: the %s %s is not used", of, kind, name)
			}
		}
		for _, name := range used[kind] {
			if _, ok := defined[name]; !ok {
				t.Errorf("%s: the %s %s is not defined", of, kind, name)
			}
		}
	}
}

func (s *stack) checkCollectors(t *testing.T) {
	for name, file := range map[string]string{"collector": "/etc/collector/collector.yaml", "jaeger": "/etc/jaeger/jaeger.yaml"} {
		if args := s.deployments[name].Spec.Template.Spec.Containers[0].Args; !slices.Equal(args, []string{"--config=" + file}) {
			t.Errorf("%s: arguments %q", name, args)
		}
		var c collector
		strictly(t, s.config(t, name, file), &c)
		c.check(t, name)
		s.reachable(t, name, name+":4317")
		if name != "collector" {
			continue
		}
		at, _ := c.Exporters["otlp_grpc/jaeger"]["endpoint"].(string)
		s.reachable(t, name, at)
		path, _ := c.Exporters["file"]["path"].(string)
		if !slices.ContainsFunc(s.deployments[name].Spec.Template.Spec.Containers[1].VolumeMounts, func(m corev1.VolumeMount) bool {
			return m.MountPath == filepath.Dir(path) && m.ReadOnly
		}) {
			t.Errorf("the container files does not see %s", path)
		}
	}
}

// TestAttach builds the overlay of the page: attach sends its spans to the stack's Collector, and Prometheus finds its port.
func TestAttach(t *testing.T) {
	dir := t.TempDir()
	root, err := filepath.Abs("../../deploy")
	if err != nil {
		t.Fatal(err)
	}
	if root, err = filepath.Rel(dir, root); err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(read(t, fleetPage), "cat > overlay/kustomization.yaml <<EOF\n")
	text, _, end := strings.Cut(text, "EOF\n")
	if !ok || !end {
		t.Fatalf("%s has no overlay", fleetPage)
	}
	text = strings.ReplaceAll(text, "../deploy", root)
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	objects, err := build(dir)
	if err != nil {
		t.Fatal(err)
	}
	var set *appsv1.DaemonSet
	reads := false
	for _, o := range objects {
		switch o := o.(type) {
		case *appsv1.DaemonSet:
			set = o
		case *rbacv1.RoleBinding:
			reads = o.Namespace == "kubeloupe" && o.Subjects[0].Namespace == "kubeloupe-stack" && o.Subjects[0].Name == "prometheus"
		}
	}
	if set == nil || !reads {
		t.Fatalf("a DaemonSet: %t; Prometheus may find its pods: %t", set != nil, reads)
	}
	pod := set.Spec.Template.Spec
	c := pod.Containers[0]
	for _, want := range []string{"--otlp-endpoint=$(OTLP_ENDPOINT)", "--sampling=$(SAMPLING)", "--metrics-address=[$(HOST_IP)]:9464"} {
		if !slices.Contains(c.Args, want) {
			t.Errorf("no %s in %q", want, c.Args)
		}
	}
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
		if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil {
			env[e.Name] = e.ValueFrom.FieldRef.FieldPath
		}
	}
	if env["OTLP_ENDPOINT"] != "collector.kubeloupe-stack.svc:4317" || env["HOST_IP"] != "status.hostIP" || pod.DNSPolicy != corev1.DNSClusterFirstWithHostNet {
		t.Errorf("environment %v, DNS policy %s", env, pod.DNSPolicy)
	}
	if len(c.Ports) != 1 || c.Ports[0].Name != "metrics" || c.Ports[0].ContainerPort != 9464 {
		t.Errorf("ports %v", c.Ports)
	}
	for name, value := range set.Spec.Template.Labels {
		if want := name + "=" + value; !strings.Contains(read(t, stackConfig), want) {
			t.Errorf("Prometheus does not select %s", want)
		}
	}
}

// TestAttachTLS builds the components for TLS to a Collector: the file that the variable names is mounted, from the Secret that has the headers, too.
func TestAttachTLS(t *testing.T) {
	dir := t.TempDir()
	root, err := filepath.Abs("../../deploy/attach")
	if err != nil {
		t.Fatal(err)
	}
	if root, err = filepath.Rel(dir, root); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [%[1]s]\ncomponents: [%[1]s/otlp, %[1]s/otlp-tls]\n", root)
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	objects, err := build(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		set, ok := o.(*appsv1.DaemonSet)
		if !ok {
			continue
		}
		pod := &set.Spec.Template.Spec
		var file, headers string
		for _, e := range pod.Containers[0].Env {
			switch e.Name {
			case "OTEL_EXPORTER_OTLP_CERTIFICATE":
				file = e.Value
			case "OTEL_EXPORTER_OTLP_HEADERS":
				headers = e.ValueFrom.SecretKeyRef.Name
			}
		}
		if !slices.ContainsFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool {
			return m.ReadOnly && m.MountPath == filepath.Dir(file) && slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool {
				return v.Name == m.Name && v.Secret != nil && v.Secret.SecretName == headers && v.Secret.Items[0].Path == filepath.Base(file)
			})
		}) {
			t.Errorf("%s is not mounted from the Secret %q", file, headers)
		}
		return
	}
	t.Error("no DaemonSet")
}
