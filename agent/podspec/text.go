package podspec

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
)

// Text returns a pod's manifest as JSON. Its values are not secret.
func Text(pod *v1.Pod) string {
	text, err := json.Marshal(struct {
		Namespace, Name string
		Labels          map[string]string
		Spec            v1.PodSpec
	}{pod.Namespace, pod.Name, pod.Labels, pod.Spec})
	if err != nil { // API types can always be encoded
		return ""
	}
	return string(text)
}
