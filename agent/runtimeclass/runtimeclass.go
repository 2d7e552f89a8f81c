// Package runtimeclass finds the runtime handler of a pod's RuntimeClass.
//
// It caches classes for a short time: a class's handler never changes, but a class can be deleted and created again
// with another one. What was found last stays known ([Classes.Last]). It runs no goroutine and publishes a Wait during a call to the API.
//
// Upstream: pkg/kubelet/runtimeclass/runtimeclass_manager.go.
package runtimeclass

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// keep is how long a response is valid: pods of one class often start together.
	keep = 10 * time.Second
	// maxKnown is the number of classes above which those are forgotten that are no longer valid.
	maxKnown = 256
)

// Getter is the part of client-go's RuntimeClassInterface that Classes needs.
type Getter interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*nodev1.RuntimeClass, error)
}

// Classes looks up RuntimeClasses. Safe for concurrent use.
type Classes struct {
	api Getter
	bus *trace.Bus

	mu    sync.Mutex
	known map[string]answer
}

type answer struct {
	handler string
	until   time.Time
}

// New returns an empty cache; api may be nil on a node without an API server.
func New(api Getter, bus *trace.Bus) *Classes {
	return &Classes{api: api, bus: bus, known: map[string]answer{}}
}

// Handler returns the runtime handler for the pod, "" for the runtime's default.
func (c *Classes) Handler(ctx context.Context, pod *v1.Pod) (string, error) {
	if pod.Spec.RuntimeClassName == nil || *pod.Spec.RuntimeClassName == "" {
		return "", nil
	}
	name := *pod.Spec.RuntimeClassName
	if c.api == nil {
		return "", errors.New("spec.runtimeClassName: classes are in the API server, and this node has none")
	}
	if h, ok := c.cached(name); ok {
		return h, nil
	}
	wait := trace.Wait{For: trace.WaitObject, Target: trace.Target{Kind: trace.TargetRuntimeClass, Name: name}}
	span := trace.Begin(c.bus, trace.FromContext(ctx), wait)
	class, err := c.api.Get(ctx, name, metav1.GetOptions{})
	trace.End(c.bus, span, wait)
	if err != nil {
		return "", fmt.Errorf("failed to get RuntimeClass %s: %w", name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if len(c.known) >= maxKnown {
		maps.DeleteFunc(c.known, func(_ string, a answer) bool { return now.After(a.until) })
	}
	c.known[name] = answer{class.Handler, now.Add(keep)}
	return class.Handler, nil
}

// Last returns the handler that the pod's class had when it was looked up last, without a look at the API: "" if it has not been.
func (c *Classes) Last(pod *v1.Pod) string {
	if pod.Spec.RuntimeClassName == nil {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[*pod.Spec.RuntimeClassName].handler
}

func (c *Classes) cached(name string) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.known[name]
	return a.handler, ok && !time.Now().After(a.until)
}
