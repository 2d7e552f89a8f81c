package lookup

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// CheckNamespace returns an error if name cannot be the name of a namespace.
func CheckNamespace(name string) error {
	if len(validation.IsDNS1123Label(name)) > 0 {
		return fmt.Errorf("namespace %q: must be at most 63 lowercase letters, digits and hyphens, such as kube-system", name)
	}
	return nil
}

// In returns ref as the reference to a pod of the namespace: NAME becomes NAMESPACE/NAME. If namespace is "", ref is returned
// unchanged. A reference to a pod of another namespace is an error.
func In(namespace, ref string) (string, error) {
	own, _, full := strings.Cut(ref, "/")
	switch {
	case namespace == "" || full && own == namespace:
		return ref, nil
	case full:
		return "", fmt.Errorf("pod %q is not in the namespace %s of --namespace: remove one of them", ref, namespace)
	}
	return namespace + "/" + ref, nil
}
