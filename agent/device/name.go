package device

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
)

// extendedName reports whether a plugin may offer a resource of that name: a domain that is not Kubernetes' own, and a name.
//
// Upstream: pkg/apis/core/v1/helper, IsExtendedResourceName.
func extendedName(name string) bool {
	if !strings.Contains(name, "/") || strings.Contains(name, "kubernetes.io/") || strings.HasPrefix(name, "requests.") {
		return false
	}
	return len(content.IsLabelKey("requests."+name)) == 0
}
