//go:build !linux

package vm

import "os/exec"

// DumpFile is only there on Linux.
const DumpFile = ""

// Inside reports whether this process is in a machine that [Run] made, which runs Linux.
func Inside() bool { return false }

// Init is only there on Linux.
func Init(func(args []string) int) { panic("vm: no machine that Run made runs this system") }

// RunBound runs a command.
func RunBound(cmd *exec.Cmd) error { return cmd.Run() }
