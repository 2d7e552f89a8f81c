package pressure

import (
	"context"

	"github.com/kubeloupe/kubeloupe/agent/gc"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Disk measures the file system of a directory. where finds the directory, and is called again only until it succeeds;
// At returns a fixed one. info measures; nil means gc.StatFS. Used is the capacity minus the space that an unprivileged
// user could still use, as for the thresholds of image garbage collection and eviction.
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

// At returns a function for a fixed directory.
func At(dir string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return dir, nil }
}
