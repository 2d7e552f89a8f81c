package runtimestate

import (
	"errors"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Upstream: pkg/kubelet/runtime.go, runtimeErrors; pkg/kubelet/kubelet.go, updateRuntimeUp.
const (
	runtimeDown     = "container runtime is down: "
	runtimeNotReady = "container runtime not ready: "
	networkNotReady = "container runtime network not ready: "
	runtimeUnknown  = "container runtime status check may not have completed yet"
	networkUnknown  = "network state unknown"
)

// health is whether the runtime or its network is ready, and why not: short, and as upstream says it in Events and in the node's status.
type health struct {
	ok         bool
	why, words string
}

// err returns why it is not ready, in upstream's words; nil if it is.
func (h health) err() error {
	if h.ok {
		return nil
	}
	return errors.New(h.words)
}

func notReady(why, prefix string) health { return health{why: why, words: prefix + why} }

// condition returns one condition. One that the runtime does not report is not ready.
//
// Upstream: pkg/kubelet/container/runtime.go, RuntimeCondition.
func condition(r *runtimeapi.StatusResponse, name, prefix string) health {
	for _, c := range r.GetStatus().GetConditions() {
		switch {
		case c.GetType() != name:
		case c.GetStatus():
			return health{ok: true}
		default:
			return health{
				why:   c.GetReason() + ": " + c.GetMessage(),
				words: fmt.Sprintf("%s%s=false reason:%s message:%s", prefix, name, c.GetReason(), c.GetMessage()),
			}
		}
	}
	return notReady("the runtime does not report "+name, prefix)
}
