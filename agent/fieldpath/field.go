package fieldpath

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Inputs is the data that is not yet in the pod object when its containers start.
type Inputs struct {
	// PodIPs are the sandbox's addresses, primary first. Empty while there is no sandbox.
	PodIPs []string
	// HostIPs are the node's addresses, primary first.
	HostIPs []string
}

// UnsupportedError says that a downward API path or resource is not supported.
type UnsupportedError struct {
	// Path is the fieldPath or resource as in the pod.
	Path string
	// Why describes the error and what would be right.
	Why string
}

// Error implements error.
func (e *UnsupportedError) Error() string { return fmt.Sprintf("downward API %q: %s", e.Path, e.Why) }

// FieldValue returns the value of a downward API field path of the pod, as text. An annotation
// or label that the pod does not have reads as "".
//
// Upstream: pkg/kubelet/kubelet_pods.go, podFieldSelectorRuntimeValue; pkg/fieldpath.
func FieldValue(pod *v1.Pod, path string, in Inputs) (string, error) {
	if field, key, ok := subscript(path); ok {
		return mapEntry(pod, path, field, key)
	}
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "metadata.labels":
		return FormatMap(pod.Labels), nil
	case "metadata.annotations":
		return FormatMap(pod.Annotations), nil
	case "spec.nodeName", "spec.host":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.podIP":
		return first(in.PodIPs), nil
	case "status.podIPs":
		return strings.Join(in.PodIPs, ","), nil
	case "status.hostIP":
		return hostIPs(path, in.HostIPs[:min(1, len(in.HostIPs))])
	case "status.hostIPs":
		return hostIPs(path, in.HostIPs)
	}
	return "", &UnsupportedError{
		path, "want metadata.{name,namespace,uid,labels,annotations,labels['KEY'],annotations['KEY']}, " +
			"spec.{nodeName,serviceAccountName} or status.{podIP,podIPs,hostIP,hostIPs}",
	}
}

// FormatMap returns one key="value" line per entry, sorted by key.
//
// Upstream: pkg/fieldpath/fieldpath.go, FormatMap.
func FormatMap(m map[string]string) string {
	lines := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		lines = append(lines, k+"="+strconv.Quote(m[k]))
	}
	return strings.Join(lines, "\n")
}

func mapEntry(pod *v1.Pod, path, field, key string) (string, error) {
	name, values := key, pod.Labels
	switch field {
	case "metadata.labels":
	case "metadata.annotations":
		// Annotation keys may have capitals, unlike qualified names.
		name, values = strings.ToLower(key), pod.Annotations
	default:
		return "", &UnsupportedError{path, "only metadata.labels and metadata.annotations take a ['KEY']"}
	}
	if errs := validation.IsQualifiedName(name); len(errs) > 0 {
		return "", &UnsupportedError{path, "invalid key: " + strings.Join(errs, "; ")}
	}
	return values[key], nil
}

// subscript splits "field['key']" into its two parts.
func subscript(path string) (field, key string, ok bool) {
	body, ok := strings.CutSuffix(path, "']")
	if !ok {
		return "", "", false
	}
	field, key, ok = strings.Cut(body, "['")
	return field, key, ok && field != ""
}

func hostIPs(path string, ips []string) (string, error) {
	if len(ips) == 0 {
		return "", &UnsupportedError{path, "the node's address is not known yet"}
	}
	return strings.Join(ips, ","), nil
}

func first(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}
