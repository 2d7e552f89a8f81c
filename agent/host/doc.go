// Package host checks the machine and sets up the agent's process.
//
// It owns the checks of the host that prevent a start (swap, cgroup v1), the settings of the kernel, the propagation of the root directory's
// mount, the process's limits (open files, oom_score_adj) and the notification of systemd, also of its watchdog. It changes only its own process,
// those settings and that mount. It runs no goroutine besides Watchdog.Run's; what is not permitted, and a watchdog that is not notified, are
// published as log.
package host
