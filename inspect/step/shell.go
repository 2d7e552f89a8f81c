package step

import (
	"cmp"
	"context"
	"os"
	"os/exec"
)

// Shell returns a command on the node, or an interactive shell if line is empty, with the stopped pod's data in its
// environment. A session over a socket has none.
func Shell(ctx context.Context, stop *Stop, line string) (*exec.Cmd, error) {
	if stop.Attached {
		return nil, ErrElsewhere
	}
	cmd := exec.CommandContext(ctx, cmp.Or(os.Getenv("SHELL"), "/bin/sh"))
	if line != "" {
		cmd = exec.CommandContext(ctx, "/bin/sh", "-c", line)
	}
	cmd.Env = append(os.Environ(), stop.Env()...)
	return cmd, nil
}
