package node

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// login are the arguments of ssh for a session of root's.
func (m *Machine) login() []string {
	return []string{
		"-q", "-i", m.path("key"), "-p", m.port, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=" + m.path("known"),
		"-o", "IdentitiesOnly=yes", "root@127.0.0.1",
	}
}

// Login is the command line of a session, for people.
func (m *Machine) Login() string { return "ssh " + strings.Join(m.login(), " ") }

// Shell is a session of root's, or a command there.
func (m *Machine) Shell(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "ssh", append(m.login(), args...)...)
}

// Command is a shell's script on the node, run as root. Scripts share a connection.
func (m *Machine) Command(ctx context.Context, script string) *exec.Cmd {
	args := append([]string{
		"-T", "-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=20", "-o", "ControlMaster=auto", "-o", "ControlPath=" + m.path("ctl"), "-o", "ControlPersist=60",
		"-o", "BatchMode=yes",
	}, m.login()...)
	return exec.CommandContext(ctx, "ssh", append(args, script)...)
}

// Forward passes connections to the socket at the path local of this machine on to an address on the node, until ctx ends. It replaces a
// socket that is there.
func (m *Machine) Forward(ctx context.Context, local, remote string) *exec.Cmd {
	args := []string{
		"-N", "-o", "BatchMode=yes", "-o", "ConnectTimeout=60", "-o", "ServerAliveInterval=60", "-o", "ExitOnForwardFailure=yes", "-o", "StreamLocalBindUnlink=yes", "-L", local + ":" + remote,
	}
	return exec.CommandContext(ctx, "ssh", append(args, m.login()...)...)
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
