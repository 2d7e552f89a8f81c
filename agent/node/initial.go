package node

import (
	"maps"
	"runtime"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	attachDetachAnnotation = "volumes.kubernetes.io/controller-managed-attach-detach"
	providedIPAnnotation   = "alpha.kubernetes.io/provided-node-ip"
	externalCloudTaint     = "node.cloudprovider.kubernetes.io/uninitialized"
	betaOSLabel            = "beta.kubernetes.io/os"
	betaArchLabel          = "beta.kubernetes.io/arch"
)

// initial returns the object as it is created, without status.
//
// Upstream: pkg/kubelet/kubelet_node_status.go, initialNode.
func (n *Node) initial() *v1.Node {
	c := &n.cfg
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: c.Name, Labels: map[string]string{
		v1.LabelHostname:   c.Hostname,
		v1.LabelOSStable:   runtime.GOOS,
		v1.LabelArchStable: runtime.GOARCH,
		betaOSLabel:        runtime.GOOS,
		betaArchLabel:      runtime.GOARCH,
	}}}
	maps.Copy(node.Labels, c.Labels)
	node.Spec.Taints = slices.Clone(c.Taints)
	if c.ExternalCloud {
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: externalCloudTaint, Value: "true", Effect: v1.TaintEffectNoSchedule})
	}
	node.Spec.ProviderID = c.ProviderID
	if c.AttachDetach {
		node.Annotations = map[string]string{attachDetachAnnotation: "true"}
	}
	return node
}

// reconcile sets in an existing object what the agent is responsible for: the default labels of nodes, the
// attach-detach annotation, and no huge pages of sizes that the machine lacks. It does not change taints and other
// labels.
//
// Upstream: pkg/kubelet/kubelet_node_status.go, tryRegisterWithAPIServer.
func (n *Node) reconcile(existing *v1.Node) *v1.Node {
	want, node := n.initial(), existing.DeepCopy()
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	for _, name := range []string{
		v1.LabelHostname, v1.LabelTopologyZone, v1.LabelTopologyRegion, v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion,
		v1.LabelInstanceTypeStable, v1.LabelInstanceType, v1.LabelOSStable, v1.LabelArchStable, v1.LabelWindowsBuild, betaOSLabel, betaArchLabel,
	} {
		value, ours := want.Labels[name]
		switch {
		case ours && value == "":
			delete(node.Labels, name)
		case ours:
			node.Labels[name] = value
		}
	}
	if n.cfg.AttachDetach {
		if node.Annotations == nil {
			node.Annotations = map[string]string{}
		}
		node.Annotations[attachDetachAnnotation] = "true"
	} else {
		delete(node.Annotations, attachDetachAnnotation)
	}
	capacity, _ := n.cfg.Resources()
	for name := range node.Status.Capacity {
		if _, ok := capacity[name]; !ok && strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix) {
			delete(node.Status.Capacity, name)
			delete(node.Status.Allocatable, name)
		}
	}
	if n.cfg.Fresh != nil && n.cfg.Fresh() {
		for name := range node.Status.Capacity {
			if _, ok := capacity[name]; !ok && extended(name) {
				node.Status.Capacity[name] = resource.Quantity{Format: resource.DecimalSI} // and so is what is allocatable, see setResources
			}
		}
	}
	return node
}

// extended reports whether a resource is one that neither Kubernetes nor this agent defines.
func extended(name v1.ResourceName) bool {
	return strings.Contains(string(name), "/") && !strings.Contains(string(name), v1.ResourceDefaultNamespacePrefix)
}
