// Package discover finds the kubelet that runs on this machine, from outside: its process, its configuration, where its log goes, its
// container runtime, and what rights there are on its API.
//
// It owns how a kubelet is recognized (its listeners, also inside k3s, k0s and kubelite) and told apart from a pod that only looks like one
// (strangers.go), and the precedence of its settings: defaults, --config, --config-dir, flags. It reads /proc and configuration files
// through a [View], so that tests give it recorded trees; it changes nothing, executes nothing, connects to nothing and publishes
// nothing. It runs no goroutine.
//
// Pods can influence some of what it reads: the names and arguments of processes, addresses that they listen on, names of sockets.
// Only a process of root that is in no pod counts as a kubelet or a runtime, and files are only opened below the root of such a process.
package discover
