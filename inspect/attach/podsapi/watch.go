package podsapi

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1 "k8s.io/api/core/v1"
	podsv1alpha1 "k8s.io/kubelet/pkg/apis/pods/v1alpha1"

	"github.com/kubeloupe/kubeloupe/inspect/attach/crilist"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// maxMessage bounds an event of the API, maxPods the pods that are known.
	maxMessage = 4 << 20
	maxPods    = 1 << 13
	// late is how late the kubelet tells at most, as measured.
	late = 5 * time.Millisecond
	// relist is how late it may know itself that a container runs.
	relist = time.Second
)

// Watch passes on records of pods' statuses until ctx or the watch ends, which is an error. socket is the path of the API.
func Watch(ctx context.Context, socket string, put func(trace.Record)) error {
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing is under way
	stream, err := podsv1alpha1.NewPodsClient(conn).WatchPods(ctx, &podsv1alpha1.WatchPodsRequest{})
	if err != nil {
		return fmt.Errorf("watch the pods: %w", err)
	}
	f := fold{ready: map[string]stage{}, put: put}
	for {
		e, err := stream.Recv()
		if err != nil {
			return fmt.Errorf("watch the pods: %w", err)
		}
		if err := f.take(e, time.Now()); err != nil {
			return err
		}
	}
}

// fold makes records of events.
type fold struct {
	ready  map[string]stage // by UID
	synced bool             // what comes is a change
	put    func(trace.Record)
}

// stage is how far a pod has come.
type stage struct{ started, ready bool }

func (f *fold) take(e *podsv1alpha1.WatchPodsEvent, now time.Time) error {
	if e.Type == podsv1alpha1.EventType_INITIAL_SYNC_COMPLETE {
		f.synced = true
		return nil
	}
	var pod v1.Pod
	if err := pod.Unmarshal(e.Pod); err != nil {
		return fmt.Errorf("read a pod: %w", err)
	}
	id := string(pod.UID)
	if e.Type == podsv1alpha1.EventType_DELETED {
		delete(f.ready, id)
		return nil
	}
	r := trace.Record{
		Time: now.UnixNano(), Observer: trace.ObserverKubeletAPI, Precision: trace.PrecisionOf(late), Trace: crilist.TraceOf(id),
		Pod: trace.Pod{Namespace: pod.Namespace, Name: pod.Name, UID: id},
	}
	was, known := f.ready[id]
	is := stage{started: was.started || hasStarted(&pod), ready: isReady(&pod)}
	if known || len(f.ready) < maxPods {
		f.ready[id] = is
	}
	if is.started && !was.started && f.synced {
		s := r
		s.Span, s.Precision, s.Event = trace.NewSpanID(), trace.PrecisionOf(relist), &trace.Milestone{Name: trace.MilestoneStarted}
		f.put(s)
	}
	if is.ready && !was.ready && f.synced {
		s := r
		s.Span, s.Event = trace.NewSpanID(), &trace.Milestone{Name: trace.MilestoneReady}
		f.put(s)
	}
	r.Span, r.Event = trace.NewSpanID(), status(&pod)
	f.put(r)
	return nil
}

// hasStarted reports whether all of a pod's containers have started.
func hasStarted(pod *v1.Pod) bool {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].State.Waiting != nil || pod.Status.ContainerStatuses[i].State == (v1.ContainerState{}) {
			return false
		}
	}
	return pod.Status.Phase != v1.PodPending && len(pod.Status.ContainerStatuses) >= len(pod.Spec.Containers) && len(pod.Spec.Containers) > 0
}

func isReady(pod *v1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

// status is a pod's status as an event.
func status(pod *v1.Pod) *trace.PodStatus {
	in := &pod.Status
	st := &trace.PodStatus{Phase: trace.PodPhase(in.Phase), Reason: in.Reason, Message: in.Message, IP: in.PodIP, Total: len(pod.Spec.Containers)}
	for i := range in.InitContainerStatuses {
		st.Containers = append(st.Containers, container(&in.InitContainerStatuses[i], true))
	}
	for i := range in.ContainerStatuses {
		c := &in.ContainerStatuses[i]
		st.Containers = append(st.Containers, container(c, false))
		st.Restarts += int(c.RestartCount)
		if c.Ready {
			st.Ready++
		}
	}
	return st
}

func container(in *v1.ContainerStatus, isInit bool) trace.ContainerStatus {
	c := trace.ContainerStatus{Name: in.Name, Init: isInit, Restarts: int(in.RestartCount), ID: in.ContainerID, State: trace.ContainerWaiting}
	switch s := in.State; {
	case s.Running != nil:
		c.State = trace.ContainerRunning
	case s.Terminated != nil:
		c.State, c.Reason, c.ExitCode = trace.ContainerTerminated, s.Terminated.Reason, s.Terminated.ExitCode
	case s.Waiting != nil:
		c.Reason, c.Message = s.Waiting.Reason, s.Waiting.Message
	}
	return c
}
