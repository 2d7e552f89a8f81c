// Package kubeevent reads Kubernetes' Events: what the kubelet, the scheduler and the attach-detach controller tell people of a pod.
//
// It owns the grammar of their messages and what records an Event becomes, wherever it comes from: the API, a dump of objects, or a line of
// the kubelet's log. Whoever may create Events writes what it reads, and messages quote the words of containers, registries and drivers:
// texts are bounded here, and do nothing to what shows them. It runs no goroutine and publishes nothing.
package kubeevent
