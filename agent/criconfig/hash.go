package criconfig

import (
	"encoding/json"
	"hash/fnv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/dump"
)

// Hash identifies the spec of a running container: its name and image. A container whose hash differs from its spec's
// is restarted. The value is equal to upstream's.
//
// Upstream: pkg/kubelet/container/helpers.go, HashContainer.
func Hash(c *v1.Container) uint64 {
	// Two strings can always be encoded.
	text, _ := json.Marshal(map[string]string{"name": c.Name, "image": c.Image})
	h := fnv.New32a()
	// A hash's Write never fails.
	_, _ = h.Write([]byte(dump.ForHash(text)))
	return uint64(h.Sum32())
}
