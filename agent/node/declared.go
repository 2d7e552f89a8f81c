package node

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
)

// Gates reports whether a feature gate is on.
type Gates interface{ Enabled(name string) bool }

// DeclaredFeatures returns the features that the scheduler and the API server can rely on, from the gates. Gates of
// features that the agent does not have must be off. A feature that the runtime must report first is not declared.
//
// Upstream: pkg/kubelet/kubelet_node_declared_features.go.
func DeclaredFeatures(gates Gates) []string {
	return ndf.DefaultFramework.DiscoverNodeFeatures(&ndf.NodeConfiguration{
		FeatureGates: gates,
		Version:      version.MustParseSemantic(strings.TrimPrefix(kubernetesVersion, "v")),
	})
}
