package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// cold times from the process's start to a Ready node in the API: one that the API does not know, and
// one that it knows.
func (c *clusterBench) cold(ctx context.Context) error {
	fresh := c.table.times("cold start → node Ready, new node", atMost(400))
	known := c.table.times("cold start → node Ready, known node", atMost(400))
	for range c.samples() {
		for _, row := range []struct {
			into   *line
			before func(context.Context) error
		}{{fresh, c.forgetNode}, {known, c.unreadyNode}} {
			if err := c.stopAgent(ctx); err != nil {
				return err
			}
			if err := row.before(ctx); err != nil {
				return err
			}
			if _, err := c.seen.awaitNode(ctx, false); err != nil {
				return err
			}
			took, err := c.startTimed(ctx)
			if err != nil {
				return err
			}
			row.into.agent(c.kind, took)
			time.Sleep(500 * time.Millisecond)
		}
	}
	return c.stopAgent(ctx)
}

// startTimed starts the agent and returns when the node was Ready.
func (c *clusterBench) startTimed(ctx context.Context) (time.Duration, error) {
	if err := c.startOnly(ctx); err != nil {
		return 0, err
	}
	at, err := c.seen.awaitNode(ctx, true)
	if err != nil && !c.agent.Alive() {
		err = errors.Join(err, fmt.Errorf("the agent ended; see %s", c.agent.LogFile))
	}
	return at.Sub(c.agent.Started), err
}

func (c *clusterBench) forgetNode(ctx context.Context) error {
	err := c.client.CoreV1().Nodes().Delete(ctx, lab.NodeName, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// unreadyNode has the API say what the node controller would say after a while.
func (c *clusterBench) unreadyNode(ctx context.Context) error {
	now := metav1.Now().UTC().Format(time.RFC3339)
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"Bench","message":"","lastHeartbeatTime":%q,"lastTransitionTime":%q}]}}`, now, now)
	_, err := c.client.CoreV1().Nodes().Patch(ctx, lab.NodeName, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return err
}

// waiting times from the process's start to the start of a pod that was waiting for it.
func (c *clusterBench) waiting(ctx context.Context) error {
	l := c.table.times("restart with a pod waiting → started", noSlower)
	for i := range c.samples() + 1 { // the first only makes the node
		if err := c.stopAgent(ctx); err != nil {
			return err
		}
		p := bound(plain(c.node.lab))
		if i > 0 {
			if err := c.create(ctx, p); err != nil {
				return err
			}
		}
		if err := c.startOnly(ctx); err != nil {
			return err
		}
		if i == 0 {
			if err := c.agent.WaitReady(ctx); err != nil {
				return err
			}
			continue
		}
		at, err := c.node.events.awaitStarted(ctx, p.Name, 1)
		if err != nil {
			return err
		}
		l.agent(c.kind, at.Sub(c.agent.Started))
		if err := c.removeAll(ctx, []*v1.Pod{p}); err != nil {
			return err
		}
	}
	return c.stopAgent(ctx)
}
