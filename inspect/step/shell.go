package step

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
)

// Shell is a command line on the node, or an interactive shell when line is empty, that knows of
// the stopped pod. A session over a socket has none.
func Shell(ctx context.Context, stop *Stop, line string) (*exec.Cmd, error) {
	if stop.Attached {
		return nil, fmt.Errorf("shell: %w", ErrElsewhere)
	}
	cmd := exec.CommandContext(ctx, cmp.Or(os.Getenv("SHELL"), "/bin/sh"))
	if line != "" {
		cmd = exec.CommandContext(ctx, "/bin/sh", "-c", line)
	}
	cmd.Env = append(os.Environ(), stop.Env()...)
	return cmd, nil
}
