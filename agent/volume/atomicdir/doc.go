// Package atomicdir writes a set of files into a directory so that a reader sees either all of the old ones or all of
// the new ones.
//
// It owns the layout, which is upstream's: each visible name is a link into ..data, which is a link to a directory
// whose name is the time when it was written. Replacing the one link replaces everything. It repairs what an
// interrupted write left behind. It never leaves the directory through a link, runs no goroutine and publishes no
// event.
//
//	labels         -> ..data/labels
//	sub            -> ..data/sub
//	..data         -> ..2026_10_01_12_00_00.123
//	..2026_10_01_12_00_00.123/{labels,sub/name}
//
// Upstream: pkg/volume/util/atomic_writer.go.
package atomicdir
