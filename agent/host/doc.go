// Package host is what the agent's process asks of the machine it runs on.
//
// It owns the checks of the host that refuse a start (swap, cgroup v1), the process's own limits (open files, oom_score_adj) and
// its word to systemd. It changes nothing but its own process. It runs no goroutine; what is not permitted is published as log.
package host
