// Package oom reports processes that the kernel killed because memory was short.
//
// It owns the reader of the kernel log (/dev/kmsg) and the parser of its OOM messages. Pure functions parse records, lines and the names
// of cgroups; a fold joins the lines of one kill. It never writes to the kernel log, kills nothing and decides nothing. Records that a
// process wrote to /dev/kmsg are ignored.
//
// [Watcher.Run] runs in its caller's goroutine and sleeps until the kernel logs something. It begins at the end of the log: kills while no
// agent ran are not reported. The kubelet reads the whole log again at each start, and repeats its Events. Where the log cannot be read (no
// /dev/kmsg, no permission), it publishes a warning and the agent continues without; the kubelet does not start then.
//
// It publishes an OOMKill for each killed process, with its pod if the agent knows it, and the node's Event SystemOOM through Config.Events.
//
// Upstream: pkg/kubelet/oom/oom_watcher_linux.go, third_party/forked/cadvisor/oomparser.
package oom
