package podruntime

import (
	"fmt"
	"strings"
)

// explainDriver adds the remedy to an error of a runtime that has another cgroup driver than the agent. It happens only
// with runtimes that do not tell their driver.
//
// The texts are from opencontainers/runc libcontainer/specconv/spec_linux.go, and CRI-O
// internal/config/cgmgr/{systemd,cgroupfs}_linux.go.
func explainDriver(err error) error {
	text, runtime, agent := err.Error(), "", ""
	switch {
	case strings.Contains(text, `expected cgroupsPath to be of format`), strings.Contains(text, "did not receive slice as parent"):
		runtime, agent = "systemd", "cgroupfs"
	case strings.Contains(text, "received systemd slice as parent"):
		runtime, agent = "cgroupfs", "systemd"
	default:
		return err
	}
	return fmt.Errorf("%w\n  remedy: the runtime's cgroup driver is %s and the agent's is %s; set cgroupDriver: %[2]s, or change the runtime's (containerd: SystemdCgroup, CRI-O: cgroup_manager)", err, runtime, agent)
}
