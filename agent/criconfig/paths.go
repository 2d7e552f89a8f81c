package criconfig

import (
	"fmt"
	"path"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"
)

const (
	defaultLogRoot = "/var/log/pods"
	// LegacyLogLength is the length of a name of LegacyLogName that is cut: the longest file name of ext4.
	LegacyLogLength = 255
)

// PodLogDir is the directory of a pod's logs: ROOT/NAMESPACE_NAME_UID. A root of "" means
// /var/log/pods.
//
// Upstream: pkg/kubelet/kuberuntime/helpers.go, BuildPodLogsDirectory.
func PodLogDir(root, namespace, name string, uid types.UID) string {
	if root == "" {
		root = defaultLogRoot
	}
	return filepath.Join(root, namespace+"_"+name+"_"+string(uid))
}

// LogPath returns the path of a container's log below its pod's directory: NAME/ATTEMPT.log.
//
// Upstream: pkg/kubelet/kuberuntime/helpers.go, buildContainerLogsPath.
func LogPath(container string, attempt int) string {
	return filepath.Join(container, fmt.Sprintf("%d.log", attempt))
}

// LegacyLogName returns the name of a container's link in /var/log/containers, which log collectors follow. It is cut
// to the file system's limit.
//
// Upstream: pkg/kubelet/kuberuntime/legacy.go, logSymlink.
func LegacyLogName(namespace, pod, container, id string) string {
	const suffix = ".log"
	name := fmt.Sprintf("%s_%s_%s-%s", pod, namespace, container, id)
	return name[:min(len(name), LegacyLogLength-len(suffix))] + suffix
}

// absolute makes a path in the container absolute. Only one that was relative becomes clean.
//
// Upstream: pkg/kubelet/kubelet_pods.go, makeMounts; pkg/volume/util/util.go, MakeAbsolutePath.
func absolute(inContainer string) string {
	if path.IsAbs(inContainer) {
		return inContainer
	}
	return path.Join("/", inContainer)
}
