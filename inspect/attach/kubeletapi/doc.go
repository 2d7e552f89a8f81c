// Package kubeletapi asks a kubelet that is not ours through its own API, port 10250.
//
// It owns the client, and that it trusts the kubelet only: the serving certificate must be one of the files in the kubelet's certificate
// directory, which root writes. Whoever else listens on the port gets neither a request nor a credential. Requests have a deadline, answers a
// limit. The kubelet writes what it reads, with names and words of pods in it. It runs no goroutine and publishes nothing.
package kubeletapi
