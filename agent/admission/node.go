package admission

import (
	v1 "k8s.io/api/core/v1"
	corev1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// nodeAffinity is the reason of a pod that does not select the node.
const nodeAffinity = "NodeAffinity"

// affinity checks the node's labels and name.
func (in Inputs) affinity() []problem {
	if in.Node == nil {
		return nil
	}
	var out []problem
	if ok, err := nodeaffinity.GetRequiredNodeAffinity(in.Pod).Match(in.Node); err != nil || !ok {
		out = append(out, predicate(nodeAffinity, "node(s) didn't match Pod's node affinity/selector"))
	}
	if name := in.Pod.Spec.NodeName; name != "" && name != in.Node.Name {
		out = append(out, predicate("NodeName", "node(s) didn't match the requested node name"))
	}
	return out
}

// taints checks NoExecute taints; a static pod tolerates all.
func (in Inputs) taints() []problem {
	if in.Node == nil || podspec.IsStatic(in.Pod) {
		return nil
	}
	_, untolerated := corev1.FindMatchingUntoleratedTaint(klog.Background(), in.Node.Spec.Taints, in.Pod.Spec.Tolerations,
		func(t *v1.Taint) bool { return t.Effect == v1.TaintEffectNoExecute }, in.Comparisons)
	if untolerated {
		return []problem{predicate("TaintToleration", "node(s) had taints that the pod didn't tolerate")}
	}
	return nil
}
