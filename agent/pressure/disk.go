package pressure

import (
	"context"

	"github.com/kubeloupe/kubeloupe/agent/gc"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Disk watches the file system that a directory is on. where finds the directory, and
// is asked again only while it cannot; At gives a fixed one. info measures; nil means
// gc.StatFS. Used is the capacity less what an unprivileged writer could still use, as
// the thresholds of image GC and eviction count.
func Disk(name trace.Signal, marks []trace.Threshold, where func(context.Context) (string, error), info func(path string) (gc.FS, error)) Signal {
	if info == nil {
		info = gc.StatFS
	}
	dir := ""
	return Signal{Name: name, Thresholds: marks, Measure: func(ctx context.Context) (Usage, error) {
		if dir == "" {
			found, err := where(ctx)
			if err != nil {
				return Usage{}, err
			}
			dir = found
		}
		f, err := info(dir)
		if err != nil {
			return Usage{}, err
		}
		return Usage{Used: max(0, f.Capacity-f.Available), Capacity: f.Capacity}, nil
	}}
}

// At is a directory that needs no finding.
func At(dir string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return dir, nil }
}
