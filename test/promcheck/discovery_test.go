package promcheck

import (
	"errors"
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/discovery"
	"k8s.io/apimachinery/pkg/labels"
)

// kubernetesSD is kubernetes_sd_configs of Prometheus, as far as the example stack uses it. Prometheus' own would have all of client-go compiled.
type kubernetesSD struct {
	Role       string `yaml:"role"`
	Namespaces struct {
		Names []string `yaml:"names"`
	} `yaml:"namespaces"`
	Selectors []struct {
		Role  string `yaml:"role"`
		Label string `yaml:"label"`
	} `yaml:"selectors"`
}

func init() { discovery.RegisterConfig(&kubernetesSD{}) }

// UnmarshalYAML checks what it decodes, as Prometheus does. Upstream: discovery/kubernetes/kubernetes.go, SDConfig.UnmarshalYAML.
func (c *kubernetesSD) UnmarshalYAML(unmarshal func(any) error) error {
	type plain kubernetesSD
	if err := unmarshal((*plain)(c)); err != nil {
		return err
	}
	if !slices.Contains([]string{"node", "pod"}, c.Role) {
		return fmt.Errorf("role %q", c.Role)
	}
	for _, s := range c.Selectors {
		if _, err := labels.Parse(s.Label); err != nil || s.Role != c.Role {
			return fmt.Errorf("selector of role %q: %w", s.Role, err)
		}
	}
	return nil
}

// Name implements discovery.Config.
func (*kubernetesSD) Name() string { return "kubernetes" }

// NewDiscoverer implements discovery.Config.
func (*kubernetesSD) NewDiscoverer(discovery.DiscovererOptions) (discovery.Discoverer, error) {
	return nil, errors.New("no cluster")
}

// NewDiscovererMetrics implements discovery.Config.
func (*kubernetesSD) NewDiscovererMetrics(prometheus.Registerer, discovery.RefreshMetricsInstantiator) discovery.DiscovererMetrics {
	return nil
}
