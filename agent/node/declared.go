package node

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
)

// Gates reports whether a feature gate is on.
type Gates interface{ Enabled(name string) bool }

// DeclaredFeatures names what the scheduler and the API server may rely on here, from the gates; leave gates off of what the agent
// does not do. What a runtime must tell of itself first is not declared.
//
// Upstream: pkg/kubelet/kubelet_node_declared_features.go.
func DeclaredFeatures(gates Gates) []string {
	return ndf.DefaultFramework.DiscoverNodeFeatures(&ndf.NodeConfiguration{
		FeatureGates: gates,
		Version:      version.MustParseSemantic(strings.TrimPrefix(kubernetesVersion, "v")),
	})
}
