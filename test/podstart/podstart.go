// Package podstart measures how long a kubelet takes to start pods: from the request to the API server until the container runs, by the
// container runtime's own clock. It owns the pods that it starts, and removes them. It publishes nothing.
package podstart

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	// deadline is how long a pod may take to start, or to be gone, on a machine that is busy.
	deadline = 90 * time.Second
	// every is how often it is looked whether it did.
	every = 20 * time.Millisecond
)

// Starter starts pods in the namespace default. All fields are required.
type Starter struct {
	Client  kubernetes.Interface
	Runtime runtimeapi.RuntimeServiceClient
	// Image has sleep, and is on the node.
	Image string
}

// Median starts n pods one after the other, after one that does not count, removes them, and returns the median of their times in
// milliseconds. A pod has one container and no volume: upstream's volume manager polls, which says nothing of what is measured.
func (s Starter) Median(ctx context.Context, name string, n int) (ms float64, err error) {
	defer func() {
		if gone := s.remove(context.WithoutCancel(ctx), name); err == nil {
			err = gone
		}
	}()
	var all []float64
	for i := range n + 1 {
		d, err := s.start(ctx, name, i)
		if err != nil {
			return 0, err
		}
		if i > 0 {
			all = append(all, float64(d)/float64(time.Millisecond))
		}
	}
	slices.Sort(all)
	return (all[(n-1)/2] + all[n/2]) / 2, nil
}

// One starts one pod, removes it, and returns its time in milliseconds.
func (s Starter) One(ctx context.Context, name string) (ms float64, err error) {
	d, err := s.start(ctx, name, 0)
	if gone := s.remove(context.WithoutCancel(ctx), name); err == nil {
		err = gone
	}
	return float64(d) / float64(time.Millisecond), err
}

func (s Starter) start(ctx context.Context, name string, i int) (time.Duration, error) {
	no, grace := false, int64(0)
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", name, i), Labels: map[string]string{"podstart": name}},
		Spec: v1.PodSpec{
			AutomountServiceAccountToken: &no, TerminationGracePeriodSeconds: &grace,
			Containers: []v1.Container{{Name: "main", Image: s.Image, Command: []string{"sleep", "1000"}}},
		},
	}
	pods := s.Client.CoreV1().Pods("default")
	at := time.Now()
	if _, err := pods.Create(ctx, p, metav1.CreateOptions{}); err != nil {
		return 0, err
	}
	id := ""
	if err := until(ctx, func() (bool, error) {
		p, err := pods.Get(ctx, p.Name, metav1.GetOptions{})
		if err != nil || len(p.Status.ContainerStatuses) == 0 || p.Status.ContainerStatuses[0].State.Running == nil {
			return false, err
		}
		_, id, _ = strings.Cut(p.Status.ContainerStatuses[0].ContainerID, "://")
		return true, nil
	}); err != nil {
		return 0, fmt.Errorf("start %s: %w", p.Name, err)
	}
	r, err := s.Runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		return 0, err
	}
	return time.Unix(0, r.GetStatus().GetStartedAt()).Sub(at), nil
}

// remove deletes the pods of a name and waits until they are gone.
func (s Starter) remove(ctx context.Context, name string) error {
	pods, of := s.Client.CoreV1().Pods("default"), metav1.ListOptions{LabelSelector: "podstart=" + name}
	if err := pods.DeleteCollection(ctx, metav1.DeleteOptions{}, of); err != nil {
		return err
	}
	return until(ctx, func() (bool, error) {
		list, err := pods.List(ctx, of)
		return err == nil && len(list.Items) == 0, err
	})
}

// until looks until something is so.
func until(ctx context.Context, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	for {
		if ok, err := so(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}
	}
}
