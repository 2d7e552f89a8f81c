package pod

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MakeStatic gives a pod from the manifest at path its identity on the node: UID, name, namespace,
// hash annotation, node name, and a toleration so that no taint evicts it. Call it after SetDefaults
// and before Validate. The pod is changed in place.
//
// The UID follows upstream's recipe (128-bit FNV-1a over a dump of the pod, "host:<node>" and
// "file:<path>"), so it is stable across restarts and changes with content, node and path. Upstream
// dumps its internal type and this dumps the v1 pod's JSON: the two agents give one manifest
// different UIDs.
//
// Upstream: pkg/kubelet/config/common.go, applyDefaults.
func MakeStatic(p *v1.Pod, path, node string) error {
	if p.UID == "" {
		uid, err := staticUID(p, path, node)
		if err != nil {
			return err
		}
		p.UID = uid
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
	p.Status.Phase = v1.PodPending
	return nil
}

func staticUID(p *v1.Pod, path, node string) (types.UID, error) {
	dump, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("hash pod %s: %w", p.Name, err)
	}
	h := fnv.New128a()
	_, _ = h.Write(dump) // a hash.Hash never fails
	_, _ = fmt.Fprintf(h, "host:%s", node)
	_, _ = fmt.Fprintf(h, "file:%s", path)
	return types.UID(hex.EncodeToString(h.Sum(nil))), nil
}

func tolerateNoExecute(spec *v1.PodSpec) {
	for _, t := range spec.Tolerations {
		if t.Key == "" && t.Operator == v1.TolerationOpExists && t.Effect == v1.TaintEffectNoExecute &&
			t.Value == "" && t.TolerationSeconds == nil {
			return
		}
	}
	spec.Tolerations = append(spec.Tolerations, v1.Toleration{
		Operator: v1.TolerationOpExists,
		Effect:   v1.TaintEffectNoExecute,
	})
}
