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
// Up starts a lab and returns; containerd and the registry continue as detached
// processes, which Open finds again and Down ends. Down leaves no process,
// mount, network namespace, bridge, cgroup or file behind.
//
// UpCluster starts a lab with a Kubernetes control plane: etcd, API server,
// controllers, scheduler, kube-proxy and CoreDNS as processes of the host, with
// the lab's registry as mirror for the images of Kubernetes' own tests. Agents,
// kubeloupe or upstream's kubelet, are started and stopped in it as its one
// node. kube-proxy's rules are for a whole network namespace, so each has one
// cluster at most. kube-proxy and upstream's kubelet change sysctls of the host,
// which stay. No other part of the package talks to Kubernetes.
//
// The package never imports the agent. It runs no goroutine beyond the calls made to it, except one for each process started,
// which reaps it if the caller lives on. It publishes no trace events.
package lab
