// Package criconfig translates a pod into requests to the CRI: the sandbox's and the
// containers' configurations, their labels and annotations, hosts file, DNS and environment.
//
// It writes names, labels, hashes and paths exactly as the kubelet does and reads back what it wrote, so that a kubelet and
// kubeloupe can adopt each other's running pods. The translation is pure: data about the node is in [Node], and only [Env] may
// wait, for ConfigMaps and Secrets that its caller's [Objects] fetches. It never touches the file system and never calls the
// runtime. It runs no goroutine and publishes no event.
package criconfig
