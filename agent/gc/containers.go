package gc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/semaphore"
	"github.com/kubeloupe/kubeloupe/trace"
)

// stopGrace is the grace period of a container of unknown state, in seconds. Upstream:
// pkg/kubelet/kuberuntime/kuberuntime_manager.go, minimumGracePeriodInSeconds.
const stopGrace = 2

func (c *Collector) collectContainers(ctx context.Context, cause trace.GCCause, ended bool) (sum Summary, err error) {
	c.containerPass.Lock()
	defer c.containerPass.Unlock()
	sp := trace.Begin(c.cfg.Bus, trace.FromContext(ctx), trace.GC{What: trace.GCContainers, Cause: cause})
	ctx = trace.ContextWith(ctx, sp)
	defer func() {
		e := trace.GC{What: trace.GCContainers, Cause: cause, Considered: sum.Considered, Removed: sum.Removed, Freed: sum.Freed}
		if err != nil {
			e.Err = err.Error()
		}
		trace.End(c.cfg.Bus, sp, e)
	}()

	in, err := c.lookAtContainers(ctx, ended)
	if err != nil {
		c.reportContainers(sp, cause, err)
		return sum, err
	}
	errs := c.settleAll(ctx, sp, PlanContainers(in), &sum)
	errs = append(errs, c.collectLinks(ctx, sp, &sum))
	return sum, errors.Join(errs...)
}

// collectLinks removes log links without a target. The containers are listed after the links: removals may have taken minutes, and a
// container that is not in an earlier list may run.
func (c *Collector) collectLinks(ctx context.Context, sp trace.Span, sum *Summary) error {
	links, err := c.danglingLinks()
	if err != nil || len(links) == 0 {
		return err
	}
	containers, err := c.cfg.Runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	var errs []error
	for _, v := range PlanLinks(links, containers.GetContainers()) {
		if err := c.settle(ctx, &v, nil); err != nil {
			errs = append(errs, fmt.Errorf("remove %s: %w", v.Subject, err))
		}
		c.tell(sp, trace.ByContainerGC, &v, sum)
	}
	return errors.Join(errs...)
}

// reportContainers reports a periodic pass that could not see what there is. A removal that failed is in the verdict and the pass's end.
//
// Upstream: pkg/kubelet/kubelet.go, StartGarbageCollection; pkg/kubelet/kuberuntime/kuberuntime_gc.go, GarbageCollect.
func (c *Collector) reportContainers(sp trace.Span, cause trace.GCCause, err error) {
	if cause == trace.GCPeriod {
		c.warn(sp, "ContainerGCFailed", err.Error())
	}
}

// settleAll executes the verdicts one after the other. A removal that takes clearly longer than usual (because a CNI
// plugin or a shim hangs) continues beside the next ones; all have ended when it returns.
func (c *Collector) settleAll(ctx context.Context, sp trace.Span, plan []Verdict, sum *Summary) (errs []error) {
	turns, err := semaphore.New(semaphore.Config{Name: "removals", Size: 1}) // without a bus: no pod waits
	if err != nil {
		return []error{err}
	}
	var group sync.WaitGroup
	defer group.Wait()
	var mu sync.Mutex
	failed := make(map[string]error) // by sandbox
	removing := make(map[string]int) // containers, by sandbox
	for _, v := range plan {
		work, err := turns.Enter(ctx, semaphore.Turn{}, string(v.Kind))
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			return append(errs, err)
		}
		mu.Lock()
		why := failed[v.ID]
		if removing[v.ID] > 0 {
			why = errors.New("one of its containers is still being removed")
		}
		removing[v.sandbox]++
		mu.Unlock()
		group.Go(func() {
			err := c.settle(ctx, &v, why)
			mu.Lock()
			removing[v.sandbox]--
			if err != nil {
				errs = append(errs, fmt.Errorf("remove %s: %w", v.Subject, err))
				failed[v.sandbox] = errors.New("one of its containers could not be removed")
			}
			c.tell(sp, trace.ByContainerGC, &v, sum)
			mu.Unlock()
			work.Leave(err == nil && v.Remove)
		})
	}
	group.Wait()
	return errs
}

func (c *Collector) lookAtContainers(ctx context.Context, ended bool) (ContainerInputs, error) {
	containers, err := c.cfg.Runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	if err != nil {
		return ContainerInputs{}, fmt.Errorf("list containers: %w", err)
	}
	sandboxes, err := c.cfg.Runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return ContainerInputs{}, fmt.Errorf("list sandboxes: %w", err)
	}
	in := ContainerInputs{
		Now: time.Now(), Policy: c.cfg.ContainerPolicy,
		Containers: containers.GetContainers(), Sandboxes: sandboxes.GetItems(),
		Deleted: func(string) bool { return false },
	}
	select {
	case <-c.cfg.Pods.Complete():
	default:
		return in, nil
	}
	in.Deleted = c.cfg.Pods.IsDeleted
	if ended {
		in.Terminated = c.cfg.Pods.IsTerminated
	}
	in.LogDirs, err = c.logDirs()
	return in, err
}

// settle executes the verdict and completes it: with the bytes, and with the reason if it failed, or if it must not be
// executed because of why.
func (c *Collector) settle(ctx context.Context, v *Verdict, why error) error {
	v.Bytes = c.size(v)
	if !v.Remove {
		return nil
	}
	err := why
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = c.remove(ctx, v)
	}
	if err != nil {
		*v = v.kept(err)
	}
	if why != nil {
		return nil // already reported
	}
	return err
}

// remove removes one object. One that no longer exists counts as removed.
func (c *Collector) remove(ctx context.Context, v *Verdict) error {
	switch v.Kind {
	case KindContainer:
		return c.removeContainer(ctx, v)
	case KindSandbox:
		_, err := c.cfg.Runtime.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: v.ID})
		if err := unlessGone(err); err != nil {
			return err
		}
		_, err = c.cfg.Runtime.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: v.ID})
		return unlessGone(err)
	case KindLogDir:
		return os.RemoveAll(filepath.Join(c.cfg.PodLogDir, v.ID))
	case KindLogLink:
		err := os.Remove(filepath.Join(c.cfg.ContainerLogDir, v.ID))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	case KindImage:
		_, err := c.cfg.Images.RemoveImage(ctx, &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: v.ID, RuntimeHandler: v.handler}})
		return unlessGone(err)
	}
	return fmt.Errorf("unknown kind %q", v.Kind)
}

func (c *Collector) removeContainer(ctx context.Context, v *Verdict) error {
	if v.unknown {
		_, err := c.cfg.Runtime.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: v.ID, Timeout: stopGrace})
		if err := unlessGone(err); err != nil {
			return fmt.Errorf("stop: %w", err)
		}
	}
	_, err := c.cfg.Runtime.RemoveContainer(ctx, &runtimeapi.RemoveContainerRequest{ContainerId: v.ID})
	if err := unlessGone(err); err != nil {
		return err
	}
	return c.removeLogs(v)
}

func unlessGone(err error) error {
	if status.Code(err) == codes.NotFound {
		return nil
	}
	return err
}

// tell publishes a verdict and counts it.
func (c *Collector) tell(sp trace.Span, by trace.Decider, v *Verdict, sum *Summary) {
	sum.add(v)
	trace.Point(c.cfg.Bus, sp, v.decision(by))
}

func (c *Collector) warn(sp trace.Span, reason, msg string) {
	if c.cfg.Warn != nil {
		c.cfg.Warn(trace.ContextWith(context.Background(), sp), reason, msg)
		return
	}
	trace.Point(c.cfg.Bus, sp, trace.NodeEvent{Type: trace.EventWarning, Reason: reason, Message: msg})
}
