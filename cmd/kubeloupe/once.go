package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

const (
	// onceLimit is how long --once waits for pods. Upstream's run-once gave up after seven tries, each
	// twice as late as the one before: about two minutes.
	onceLimit = 2 * time.Minute
	onceLook  = 50 * time.Millisecond
)

// settler is an agent, as far as --once looks at it.
type settler interface {
	Ready() <-chan struct{}
	SourcesReady() bool
	Pods() []v1.Pod
}

// once returns when every pod runs or has ended, and tells what became of them. The error says
// which did not get there.
func once(ctx context.Context, a settler, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, onceLimit)
	defer cancel()
	select {
	case <-a.Ready():
	case <-ctx.Done():
		return ctx.Err()
	}
	tick := time.NewTicker(onceLook)
	defer tick.Stop()
	for {
		pods := a.Pods()
		done := a.SourcesReady() && !slices.ContainsFunc(pods, func(p v1.Pod) bool { return !settled(&p) })
		if done {
			return onceReport(pods, w)
		}
		select {
		case <-ctx.Done():
			return errors.Join(onceReport(pods, w), fmt.Errorf("--once: not all pods run or have terminated after %s", onceLimit))
		case <-tick.C:
		}
	}
}

// settled reports whether nothing more has to happen to a pod: it is finished, or all of it runs.
func settled(p *v1.Pod) bool {
	switch p.Status.Phase {
	case v1.PodSucceeded, v1.PodFailed:
		return true
	case v1.PodRunning:
		return !slices.ContainsFunc(p.Status.ContainerStatuses, func(s v1.ContainerStatus) bool { return s.State.Running == nil && s.State.Terminated == nil })
	case v1.PodPending, v1.PodUnknown:
	}
	return false
}

// onceReport writes a line for each pod. Its error names those that failed.
func onceReport(pods []v1.Pod, w io.Writer) error {
	sorting.Stable(pods, func(a, b *v1.Pod) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	var failed []string
	for _, p := range pods {
		phase := string(p.Status.Phase)
		if phase == "" {
			phase = string(v1.PodPending)
		}
		if _, err := fmt.Fprintf(w, "%-10s %s/%s %s\n", phase, p.Namespace, p.Name, human.Line(p.Status.Message)); err != nil {
			return err
		}
		if p.Status.Phase == v1.PodFailed {
			failed = append(failed, p.Namespace+"/"+p.Name)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("--once: failed: %s", strings.Join(failed, ", "))
	}
	return nil
}
