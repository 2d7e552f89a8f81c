package main

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// elsewhere is a node without an agent: nobody takes its pods.
const elsewhere = "bench-floor"

// loadedFloor is what the runtime needs with the load of the API beside it, on the same CPUs, of which no kubelet can ask less. Each pod is
// created through it, bound to a node without an agent, before its direct calls begin, and its status is patched once when it has started. It is deleted
// through it before its direct calls to end begin, its status is patched once when it has ended, and it is removed. There are width pods at a time, and
// ends of them.
func (c *clusterBench) loadedFloor(ctx context.Context, size, width, ends int) (burst, error) {
	var out burst
	pods := make([]*v1.Pod, size)
	for i := range pods {
		pods[i] = plain(c.twin.lab)
	}
	created := make(chan *v1.Pod, size)
	failed := make(chan error, 1)
	tell := c.usedCPU(fmt.Sprintf("%d pods, loaded floor with %d, start", size, width))
	begin := time.Now()
	go func() {
		defer close(created)
		failed <- each(pods, 10, func(p *v1.Pod) error {
			b := bound(p.DeepCopy())
			b.Spec.NodeName = elsewhere
			err := c.create(ctx, b)
			if err == nil {
				created <- p
			}
			return err
		})
	}()
	made, err := c.startCreated(ctx, created, width)
	if err != nil {
		return out, err
	}
	if err := <-failed; err != nil {
		return out, err
	}
	if out.outcome, err = c.twin.collect(ctx, pods, "", begin); err != nil {
		return out, err
	}
	tell()
	time.Sleep(time.Second)
	out.gone, err = c.endLoaded(ctx, pods, made, ends)
	return out, err
}

// startCreated starts pods as they are created, at most width at a time, and patches each.
func (c *clusterBench) startCreated(ctx context.Context, created <-chan *v1.Pod, width int) (map[string]*made, error) {
	type result struct {
		name string
		made *made
		err  error
	}
	results, done := make(chan result), make(chan struct{})
	for range width {
		go func() {
			for p := range created {
				m, err := c.twin.cri.start(ctx, p, false)
				if err == nil {
					err = c.patch(ctx, p, startedStatus)
				}
				results <- result{p.Name, m, err}
			}
			done <- struct{}{}
		}()
	}
	all := map[string]*made{}
	var first error
	for left := width; left > 0; {
		select {
		case r := <-results:
			if all[r.name] = r.made; r.err != nil && first == nil {
				first = r.err
			}
		case <-done:
			left--
		}
	}
	return all, first
}

// Statuses as an agent writes them when a pod has started, and when it has ended.
const (
	startedStatus = `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"},{"type":"ContainersReady","status":"True"},{"type":"Initialized","status":"True"}],` +
		`"containerStatuses":[{"name":"main","ready":true,"started":true,"restartCount":0,"image":"i","imageID":"i","state":{"running":{}}}]}}`
	endedStatus = `{"status":{"phase":"Succeeded","conditions":[{"type":"Ready","status":"False"},{"type":"ContainersReady","status":"False"}],` +
		`"containerStatuses":[{"name":"main","ready":false,"started":false,"restartCount":0,"image":"i","imageID":"i","state":{"running":null,"terminated":{"exitCode":0,"reason":"Completed"}}}]}}`
)

func (c *clusterBench) patch(ctx context.Context, p *v1.Pod, status string) error {
	_, err := c.client.CoreV1().Pods(benchNamespace).Patch(ctx, p.Name, types.StrategicMergePatchType, []byte(status), metav1.PatchOptions{}, "status")
	return err
}

// endLoaded ends the pods: each is deleted through the API, with its grace period, and directly, and then removed from the API.
func (c *clusterBench) endLoaded(ctx context.Context, pods []*v1.Pod, made map[string]*made, width int) (time.Duration, error) {
	tell := c.usedCPU(fmt.Sprintf("%d pods, loaded floor with %d, end", len(pods), width))
	begin := time.Now()
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	err := each(pods, width, func(p *v1.Pod) error {
		if err := c.remove(ctx, p); err != nil {
			return err
		}
		if err := c.twin.cri.stop(ctx, made[p.Name]); err != nil {
			return err
		}
		if err := c.patch(ctx, p, endedStatus); err != nil {
			return err
		}
		return c.client.CoreV1().Pods(benchNamespace).Delete(ctx, p.Name, now)
	})
	if err != nil {
		return 0, err
	}
	took := time.Since(begin)
	if _, err := c.twin.events.awaitAllGone(ctx, pods); err != nil { // they were before
		return 0, err
	}
	tell()
	time.Sleep(time.Second)
	return took, nil
}
