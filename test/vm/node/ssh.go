package node

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// Command is a shell's script on the node, run as root.
func (m *Machine) Command(ctx context.Context, script string) *exec.Cmd {
	return exec.CommandContext(ctx, "ssh", "-q", "-T", "-i", m.path("key"), "-p", m.port, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile="+m.path("known"),
		"-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=20", "-o", "ControlMaster=auto", "-o", "ControlPath="+m.path("ctl"), "-o", "ControlPersist=60",
		"-o", "BatchMode=yes", "root@127.0.0.1", script)
}

// Run runs a script and returns what it printed, without space at its ends.
func (m *Machine) Run(ctx context.Context, script string) (string, error) {
	var out, errs bytes.Buffer
	c := m.Command(ctx, script)
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return strings.TrimSpace(out.String()), fmt.Errorf("%s: %w: %s", script, err, strings.TrimSpace(errs.String()))
	}
	return strings.TrimSpace(out.String()), nil
}
