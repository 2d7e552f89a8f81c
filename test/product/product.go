// Package product builds the program for the tests that run it.
package product

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

const (
	root    = "../.."
	program = root + "/cmd/kubeloupe"
)

// Fetch gets the modules that Build needs, for tests that have no network then.
func Fetch(ctx context.Context, _ io.Writer) error {
	if said, err := exec.CommandContext(ctx, "go", "list", "-deps", program).CombinedOutput(); err != nil {
		return fmt.Errorf("go list -deps: %w\n%s", err, said)
	}
	return nil
}

// Build builds cmd/kubeloupe to out as make build does, with more variables in go's environment. It is for tests of packages two directories below
// the module's. It reads the directories of what the program is made of: go test repeats the result of a test while nothing
// has changed that the test itself opened, and knows nothing of what a compiler that it runs opens.
func Build(ctx context.Context, out string, env ...string) error {
	for _, part := range []string{"agent", "cmd", "inspect", "trace", "tui", "go.mod"} {
		err := filepath.WalkDir(filepath.Join(root, part), func(_ string, _ fs.DirEntry, err error) error { return err })
		if err != nil {
			return err
		}
	}
	build := exec.CommandContext(ctx, "go", "build", "-pgo="+program+"/agent.pgo", "-o", out, program)
	build.Env = append(os.Environ(), env...)
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, said)
	}
	return nil
}
