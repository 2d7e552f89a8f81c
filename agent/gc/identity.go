package gc

import (
	"fmt"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/kubelet/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

// unit is the key by which dead containers are counted.
type unit struct{ uid, name string }

func unitOf(c *runtimeapi.Container) unit {
	return unit{types.GetPodUID(c.Labels), c.GetMetadata().GetName()}
}

// podName returns namespace/name from a kubelet's labels.
func podName(labels map[string]string) string {
	return types.GetPodNamespace(labels) + "/" + types.GetPodName(labels)
}

// logPattern matches a container's log files, including rotated ones, below the pods' log directory; "" if its labels
// are missing.
//
// Upstream: pkg/kubelet/kuberuntime/helpers.go, buildContainerLogsPath.
func logPattern(c *runtimeapi.Container) string {
	ns, pod, uid, name := types.GetPodNamespace(c.Labels), types.GetPodName(c.Labels), types.GetPodUID(c.Labels), types.GetContainerName(c.Labels)
	for _, part := range []string{ns, pod, uid, name} {
		if part == "" || strings.ContainsAny(part, `/\*?[`) {
			return ""
		}
	}
	return fmt.Sprintf("%s_%s_%s/%s/%d.log*", ns, pod, uid, name, c.GetMetadata().GetAttempt())
}

// logDirUID returns the pod's UID from the name of its log directory, false if the
// name is not namespace_name_uid.
func logDirUID(name string) (string, bool) {
	parts := strings.Split(name, "_")
	if len(parts) != 3 || parts[2] == "" {
		return "", false
	}
	return parts[2], true
}

// linkContainer returns the container's ID from the name of a log link, pod_namespace_container-id.log, false for other
// names.
//
// Upstream: pkg/kubelet/kuberuntime/legacy.go, getContainerIDFromLegacyLogSymlink.
func linkContainer(name string) (string, bool) {
	base, ok := strings.CutSuffix(name, ".log")
	i := strings.LastIndexByte(base, '-')
	if !ok || i < 0 || len(base)-i-1 < 6 || strings.Count(base, "_") < 2 {
		return "", false
	}
	return base[i+1:], true
}

// isCutLink reports whether a log link may have a name that was too long.
func isCutLink(name string) bool {
	return len(name) == criconfig.LegacyLogLength && strings.HasSuffix(name, ".log")
}

func short(id string) string { return id[:min(len(id), 12)] }
