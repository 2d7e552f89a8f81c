// Package checksum computes the checksums of the kubelet's state files.
//
// The names of this package and of its type are part of what is summed: the kubelet sums a dump of a value, with the names of its types.
// It keeps no state, runs no goroutine and publishes nothing.
//
// Upstream: pkg/kubelet/checkpointmanager/checksum, pkg/util/hash.
package checksum

import (
	"hash/fnv"

	"k8s.io/utils/dump"
)

// Checksum is the sum in a file.
type Checksum uint64

// New returns the sum of a value.
func New(data any) Checksum { return Of(Dump(data)) }

// Dump returns the text of a value that is summed.
func Dump(data any) string { return dump.ForHash(data) }

// Of returns the sum of a text.
func Of(text string) Checksum {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // a hash never returns an error
	return Checksum(h.Sum32())
}
