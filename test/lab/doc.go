// Package lab runs a private container runtime for tests, demonstrations and
// benchmarks: a real containerd with runc and CNI plugins, and an OCI registry
// with images made on the spot. Everything is built from pinned Go modules and
// kept, by version, in a cache outside the work tree.
//
// One directory holds a lab. Each lab has its own containerd (root, state,
// sockets), registry, bridge, subnet, cgroup root and OTLP port, so several run
// side by side, and next to a containerd of the host, which is never touched.
// Two host-wide settings are changed and stay: fs.inotify.max_user_instances is
// raised, and the bridge plugin turns IP forwarding on.
//
// Up starts a lab and returns; containerd and the registry go on as detached
// processes, which Open finds again and Down ends. Down leaves no process,
// mount, network namespace, bridge, cgroup or file behind.
//
// The package never talks to Kubernetes and never imports the agent. It runs no
// goroutine beyond the calls made to it, except one for each process started,
// which reaps it if the caller lives on. It publishes no trace events.
package lab
