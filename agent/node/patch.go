package node

import (
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// patch returns the strategic merge patch that changes labels, annotations and status from old to node, and nothing
// else.
func patch(old, node *v1.Node) ([]byte, error) {
	was, is := written(old), written(node)
	// Addresses merge by type, and two may have the same: they are replaced as a whole.
	addresses := is.Status.Addresses
	replace := !apiequality.Semantic.DeepEqual(was.Status.Addresses, addresses)
	is.Status.Addresses = was.Status.Addresses

	before, err := json.Marshal(was)
	if err != nil {
		return nil, fmt.Errorf("encode node: %w", err)
	}
	after, err := json.Marshal(is)
	if err != nil {
		return nil, fmt.Errorf("encode node: %w", err)
	}
	out, err := strategicpatch.CreateTwoWayMergePatch(before, after, v1.Node{})
	if err != nil {
		return nil, fmt.Errorf("make the patch of the node: %w", err)
	}
	if !replace {
		return out, nil
	}
	var whole map[string]any
	if err := json.Unmarshal(out, &whole); err != nil {
		return nil, fmt.Errorf("decode the patch of the node: %w", err)
	}
	status, ok := whole["status"].(map[string]any)
	if !ok {
		status = map[string]any{}
		whole["status"] = status
	}
	list := make([]any, 0, len(addresses)+1)
	for _, a := range addresses {
		list = append(list, a)
	}
	status["addresses"] = append(list, map[string]any{"$patch": "replace"})
	delete(status, "$setElementOrder/addresses")
	return json.Marshal(whole)
}

// written returns the part of the object that the agent writes.
func written(o *v1.Node) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Labels: o.Labels, Annotations: o.Annotations}, Status: o.Status}
}
