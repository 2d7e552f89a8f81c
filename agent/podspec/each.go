package podspec

import (
	"iter"

	v1 "k8s.io/api/core/v1"
)

// Each yields the pod's init containers and then the others, in order. long says that the container runs beside the pod's containers: it is
// one of them, or a sidecar.
func Each(p *v1.Pod) iter.Seq2[*v1.Container, bool] {
	return func(yield func(c *v1.Container, long bool) bool) {
		for i := range p.Spec.InitContainers {
			if c := &p.Spec.InitContainers[i]; !yield(c, RestartableInit(c)) {
				return
			}
		}
		for i := range p.Spec.Containers {
			if !yield(&p.Spec.Containers[i], true) {
				return
			}
		}
	}
}
