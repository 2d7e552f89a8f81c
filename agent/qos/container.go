package qos

import v1 "k8s.io/api/core/v1"

// GuaranteedContainer reports whether the container's requests of CPU and memory are its limits, as those of all containers of a Guaranteed
// pod without pod-level resources. Of a pod with them, only such a container can have CPUs and memory for itself.
//
// Upstream: pkg/kubelet/cm/qos, IsContainerEquivalentQOSGuaranteed.
func GuaranteedContainer(c *v1.Container) bool { return classOf(&c.Resources) == v1.PodQOSGuaranteed }
