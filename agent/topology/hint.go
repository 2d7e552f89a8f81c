package topology

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/numa"
)

// Hint is a set of NUMA nodes that can give a resource.
type Hint struct {
	// Nodes is the set; 0 means any nodes.
	Nodes numa.Mask
	// Preferred says that no smaller set could ever give it.
	Preferred bool
}

// HintProvider gives a resource that belongs to NUMA nodes. One call is made at a time.
type HintProvider interface {
	// Hints returns the sets of NUMA nodes that can give the container what it requests, by resource. For a nil list, and without any
	// resource, any nodes will do. For an empty list, none will.
	Hints(pod *v1.Pod, c *v1.Container) map[string][]Hint
	// PodHints returns the same for all containers of the pod together.
	PodHints(pod *v1.Pod) map[string][]Hint
	// Allocate gives the container what it requests, if possible from the nodes of the affinity. An error that has a method
	// Reason() string sets the reason of the pod's rejection, else it is UnexpectedAdmissionError.
	Allocate(ctx context.Context, pod *v1.Pod, c *v1.Container, affinity Hint) error
}

// Provider is a HintProvider with a name for people, such as cpu.
type Provider struct {
	Name string
	HintProvider
}
