// Package podobject makes records of pods' objects, as a kubelet that is not ours and the API server show them.
//
// It owns which parts of an object are taken: names, labels, images, figures of probes and statuses. Environments, commands, arguments and
// annotations are dropped at once. It owns what becomes of a pod while its object changes: when it started and became ready. Statuses hold the
// words of containers and registries: the bus cuts them. It runs no goroutine and publishes nothing.
package podobject
