// Package verbosity raises the verbosity of a kubelet that is not ours for a while, and puts it back however that ends.
//
// It owns what is asked of the kubelet's API (/configz, /debug/flags/v) and what puts the old value back when whoever raised it ends, also by
// SIGKILL. It is armed before the verbosity is raised, and tries until the kubelet answers. With systemd, it is a transient timer, which is
// armed anew while whoever raised the verbosity lives. Elsewhere it is a watchdog: a process of its own, whose own SIGKILL leaves the value
// raised, until the kubelet starts again.
//
// Package kubeletapi makes the calls. Raise runs the watchdog's process and RaiseByTimer systemd's programs; nothing is published.
package verbosity
