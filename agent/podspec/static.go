package podspec

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"strings"

	v1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MakeStatic gives a pod from the manifest at path its identity on the node: UID, name, namespace, hash annotation,
// node name, and a toleration so that no taint evicts it. Call it after SetDefaults and before Validate. The pod is
// changed in place.
//
// The UID is upstream's (128-bit FNV-1a over a dump of the pod, "host:<node>" and "file:<path>", or "url:<path>" for a
// pod of a web server), so that each agent recognizes the other's static pods.
//
// Upstream: pkg/kubelet/config/common.go, applyDefaults.
func MakeStatic(p *v1.Pod, path, node string) error {
	if p.UID == "" {
		p.UID = staticUID(p, path, node)
	}
	p.Name += "-" + strings.ToLower(node)
	if p.Namespace == "" {
		p.Namespace = metav1.NamespaceDefault
	}
	p.Spec.NodeName = node
	if p.Annotations == nil {
		p.Annotations = make(map[string]string, 3)
	}
	p.Annotations[AnnotationHash] = string(p.UID)
	tolerateNoExecute(&p.Spec)
	plainQuantities(&p.Spec)
	p.Status.Phase = v1.PodPending
	return nil
}

// plainQuantities gives quantities such as 1.5Gi the form that pods of the API have, 1536Mi. Copies of the other form share their digits, so that a
// sum that begins with one changes the spec: each call of component-helpers' PodRequests would add the overhead to the pod-level requests. The UID
// is upstream's only with the form of the manifest, so it must be there before.
func plainQuantities(spec *v1.PodSpec) {
	plain := func(list v1.ResourceList) {
		for name, quantity := range list {
			if same, err := apiresource.ParseQuantity(quantity.String()); err == nil {
				list[name] = same
			}
		}
	}
	both := func(r *v1.ResourceRequirements) {
		plain(r.Limits)
		plain(r.Requests)
	}
	plain(spec.Overhead)
	if spec.Resources != nil {
		both(spec.Resources)
	}
	for i := range spec.InitContainers {
		both(&spec.InitContainers[i].Resources)
	}
	for i := range spec.Containers {
		both(&spec.Containers[i].Resources)
	}
}

func staticUID(p *v1.Pod, path, node string) types.UID {
	h := fnv.New128a()
	bare := *p
	bare.TypeMeta = metav1.TypeMeta{}
	dump(h, &bare)
	from := fmt.Sprintf("host:%sfile:%s", node, path)
	if strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://") {
		from = "url:" + path
	}
	_, _ = h.Write([]byte(from)) // a hash.Hash never returns an error
	return types.UID(hex.EncodeToString(h.Sum(nil)))
}

// tolerateNoExecute adds a toleration of all NoExecute taints. One of the manifest for a limited time would have the mirror pod evicted, and is
// replaced.
//
// Upstream: pkg/apis/core/helper/helpers.go, AddOrUpdateTolerationInPod.
func tolerateNoExecute(spec *v1.PodSpec) {
	all := v1.Toleration{Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}
	has := false
	for i := range spec.Tolerations {
		if t := &spec.Tolerations[i]; t.MatchToleration(&all) {
			t.TolerationSeconds, has = nil, true
		}
	}
	if !has {
		spec.Tolerations = append(spec.Tolerations, all)
	}
}
