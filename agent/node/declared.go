package node

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Gates reports whether a feature gate is on.
type Gates interface{ Enabled(name string) bool }

// Release is the release of Kubernetes whose behavior the agent follows.
func Release() *version.Version {
	return version.MustParseSemantic(strings.TrimPrefix(kubernetesVersion, "v"))
}

// DeclaredFeatures returns the features that the scheduler and the API server can rely on, sorted: from the gates and, where a feature needs
// the runtime, from those that the runtime reported; nil if it reported none. Gates of features that the agent does not have must be off.
//
// Upstream: pkg/kubelet/kubelet_node_declared_features.go.
func DeclaredFeatures(gates Gates, runtime *runtimeapi.RuntimeFeatures) []string {
	return ndf.DefaultFramework.DiscoverNodeFeatures(&ndf.NodeConfiguration{
		FeatureGates: gates,
		Version:      Release(),
		RuntimeFeatures: ndf.RuntimeFeatures{
			UserNamespacesHostNetwork: runtime.GetUserNamespacesHostNetwork(), MountOptions: runtime.GetMountOptions(),
		},
	})
}
