// Package runtimeclass finds the runtime handler of a pod's RuntimeClass.
//
// It caches classes for a short time: a class's handler never changes, but a class can be deleted and created again
// with another one. What was found last stays known ([Classes.Last]): while the API server does not answer, that is the answer.
// It runs no goroutine and publishes a Wait during a call to the API.
//
// Upstream: pkg/kubelet/runtimeclass/runtimeclass_manager.go, which watches all classes.
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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// keep is how long a response is valid: pods of one class often start together.
	keep = 10 * time.Second
	// patience limits a request for a class that is known already.
	patience = 5 * time.Second
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
	gone    bool // the class was deleted since
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
	last, known := c.last(name)
	if known && !time.Now().After(last.until) {
		return last.handler, nil
	}
	class, err := c.get(ctx, name, known)
	if err == nil {
		c.learn(name, class.Handler)
		return class.Handler, nil
	}
	if ctx.Err() == nil {
		if handler, ok := c.unanswered(name, apierrors.IsNotFound(err)); ok {
			return handler, nil
		}
	}
	return "", fmt.Errorf("failed to get RuntimeClass %s: %w", name, err)
}

// get requests a class.
func (c *Classes) get(ctx context.Context, name string, known bool) (*nodev1.RuntimeClass, error) {
	wait := trace.Wait{For: trace.WaitObject, Target: trace.Target{Kind: trace.TargetRuntimeClass, Name: name}}
	span := trace.Begin(c.bus, trace.FromContext(ctx), wait)
	defer trace.End(c.bus, span, wait)
	if known {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	return c.api.Get(ctx, name, metav1.GetOptions{})
}

func (c *Classes) learn(name, handler string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if len(c.known) >= maxKnown {
		maps.DeleteFunc(c.known, func(_ string, a answer) bool { return now.After(a.until) })
	}
	c.known[name] = answer{handler: handler, until: now.Add(keep)}
}

// unanswered returns what is known of a class that could not be requested, and false if there is none. gone says that it does not exist.
func (c *Classes) unanswered(name string, gone bool) (handler string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, known := c.known[name]
	if !known || a.gone {
		return "", false
	}
	a.gone, a.until = gone, time.Now().Add(keep)
	c.known[name] = a
	return a.handler, !gone
}

// last returns what was found last about a class that was not deleted since, as far as that is known.
func (c *Classes) last(name string) (answer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.known[name]
	return a, ok && !a.gone
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
