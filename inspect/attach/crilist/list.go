package crilist

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

const (
	// deadline bounds each call, maxMessage each answer, maxPods the pods that are told of.
	deadline   = 5 * time.Second
	maxMessage = 16 << 20
	maxPods    = 1 << 12
)

// Found is what a runtime has.
type Found struct {
	// Name and Version are the runtime's words of itself.
	Name, Version string
	// Records tell of pods that run, in the order of their creation: seen, started, their containers.
	Records []trace.Record
}

// Read asks the runtime at a unix socket. Pods that were created after since are left out: their starts are in the logs. Records have the
// time since.
func Read(ctx context.Context, socket string, since time.Time) (f Found, err error) {
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		return f, err
	}
	defer conn.Close() //nolint:errcheck // nothing is under way
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	c := runtimeapi.NewRuntimeServiceClient(conn)
	v, err := c.Version(ctx, &runtimeapi.VersionRequest{})
	if err != nil {
		return f, fmt.Errorf("ask the runtime for its version: %w", err)
	}
	f.Name, f.Version = v.RuntimeName, v.RuntimeVersion
	ready := &runtimeapi.PodSandboxFilter{State: &runtimeapi.PodSandboxStateValue{State: runtimeapi.PodSandboxState_SANDBOX_READY}}
	boxes, err := c.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{Filter: ready})
	if err != nil {
		return f, fmt.Errorf("list the sandboxes: %w", err)
	}
	all, err := c.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	if err != nil {
		return f, fmt.Errorf("list the containers: %w", err)
	}
	f.Records = records(boxes.Items, all.Containers, since)
	return f, nil
}

// records are those of pods that run since before.
func records(boxes []*runtimeapi.PodSandbox, all []*runtimeapi.Container, since time.Time) (out []trace.Record) {
	of := map[string][]*runtimeapi.Container{}
	for _, c := range all {
		of[c.PodSandboxId] = append(of[c.PodSandboxId], c)
	}
	slices.SortFunc(boxes, func(a, b *runtimeapi.PodSandbox) int { return cmp.Compare(a.CreatedAt, b.CreatedAt) })
	n := 0
	for _, b := range boxes {
		m := b.GetMetadata()
		if m.GetUid() == "" || m.GetName() == "" || b.CreatedAt >= since.UnixNano() || n == maxPods {
			continue
		}
		n++
		pod := trace.Pod{Namespace: m.Namespace, Name: m.Name, UID: m.Uid}
		put := func(e trace.Event) {
			out = append(out, trace.Record{
				Time: since.UnixNano(), Observer: trace.ObserverRuntimeList, Precision: trace.PrecisionOf(time.Hour), Span: trace.NewSpanID(), Trace: TraceOf(m.Uid), Pod: pod, Event: e,
			})
		}
		put(&trace.Milestone{Name: trace.MilestoneSeen, Adopted: true, Labels: LabelsOf(b.Labels)})
		st := status(b.Id, of[b.Id])
		if st.Ready > 0 {
			put(&trace.Milestone{Name: trace.MilestoneStarted, Adopted: true})
		}
		put(st)
	}
	return out
}

// status is what a sandbox's containers tell of their pod: the latest try of each.
func status(box string, all []*runtimeapi.Container) *trace.PodStatus {
	latest := map[string]*runtimeapi.Container{}
	for _, c := range all {
		name := c.GetMetadata().GetName()
		if old := latest[name]; old == nil || old.CreatedAt < c.CreatedAt {
			latest[name] = c
		}
	}
	st := &trace.PodStatus{SandboxID: box}
	for _, c := range latest {
		cs := trace.ContainerStatus{Name: c.GetMetadata().GetName(), ID: c.Id, State: trace.ContainerTerminated, Restarts: int(c.GetMetadata().GetAttempt())}
		if n, err := strconv.Atoi(c.GetAnnotations()["io.kubernetes.container.restartCount"]); err == nil {
			cs.Restarts = n
		}
		switch c.State {
		case runtimeapi.ContainerState_CONTAINER_RUNNING:
			cs.State = trace.ContainerRunning
			st.Ready++
		case runtimeapi.ContainerState_CONTAINER_CREATED, runtimeapi.ContainerState_CONTAINER_UNKNOWN:
			cs.State = trace.ContainerWaiting
		case runtimeapi.ContainerState_CONTAINER_EXITED:
		}
		st.Restarts += cs.Restarts
		st.Containers = append(st.Containers, cs)
	}
	sorting.Stable(st.Containers, func(a, b *trace.ContainerStatus) int { return strings.Compare(a.Name, b.Name) })
	st.Total = len(st.Containers)
	if st.Ready > 0 {
		st.Phase = trace.PodRunning
	}
	return st
}

// Container is whose a sandbox or container is.
type Container struct {
	ID      string
	Sandbox bool
	// Name is the container's in its pod; "" of a sandbox.
	Name string
	Pod  trace.Pod
}

// Containers asks a runtime for its sandboxes and containers, also those that do not run.
func Containers(ctx context.Context, conn grpc.ClientConnInterface) (out []Container, err error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	c := runtimeapi.NewRuntimeServiceClient(conn)
	boxes, err := c.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{}, grpc.MaxCallRecvMsgSize(maxMessage))
	if err != nil {
		return nil, fmt.Errorf("list the sandboxes: %w", err)
	}
	all, err := c.ListContainers(ctx, &runtimeapi.ListContainersRequest{}, grpc.MaxCallRecvMsgSize(maxMessage))
	if err != nil {
		return nil, fmt.Errorf("list the containers: %w", err)
	}
	pods := map[string]trace.Pod{}
	for _, b := range boxes.Items {
		m := b.GetMetadata()
		pods[b.Id] = trace.Pod{Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUid()}
		out = append(out, Container{ID: b.Id, Sandbox: true, Pod: pods[b.Id]})
	}
	for _, k := range all.Containers {
		out = append(out, Container{ID: k.Id, Name: k.GetMetadata().GetName(), Pod: pods[k.PodSandboxId]})
	}
	return out, nil
}

// TraceOf is the trace of a pod's life, by its UID; zero where that is none.
func TraceOf(uid string) (t trace.TraceID) {
	b, err := hex.DecodeString(strings.ReplaceAll(uid, "-", ""))
	if err != nil || len(b) != 16 {
		return t
	}
	for i := range 8 {
		t.Hi, t.Lo = t.Hi<<8|uint64(b[i]), t.Lo<<8|uint64(b[8+i])
	}
	return t
}
