// Package install says how a proxy is set up on a node with systemd: the unit, what makes the endpoint's link at boot, and the change of
// the kubelet's configuration.
//
// It is pure: it writes no file and runs no command.
package install
