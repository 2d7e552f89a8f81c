package oom

import (
	"context"
	"errors"
	"io"

	"github.com/kubeloupe/kubeloupe/trace"
)

// kernelLog is the file that is read.
const kernelLog = "/dev/kmsg"

// Config is what a Watcher needs.
type Config struct {
	// Pods knows the pods of this agent.
	Pods Pods
	// Events sends the node's Events; nil sends none.
	Events Events
	// Bus may be nil.
	Bus *trace.Bus
	// Open opens the kernel log at its end; nil opens /dev/kmsg. Each read returns one record. Close ends a read.
	Open func() (io.ReadCloser, error)
}

// Pods finds the pod of a UID, and the name of its container with this id if there is one. It returns false for pods that the agent does not
// know. It must not block.
type Pods interface {
	Find(uid, container string) (pod trace.Pod, name string, known bool)
}

// Events sends an Event about the node.
type Events interface {
	Node(ctx context.Context, eventType, reason, message string)
}

// Watcher watches the kernel log.
type Watcher struct{ cfg Config }

// New returns a watcher that does not run.
func New(c Config) (*Watcher, error) {
	if c.Pods == nil {
		return nil, errors.New("oom: Pods is missing")
	}
	if c.Open == nil {
		c.Open = open
	}
	return &Watcher{cfg: c}, nil
}
