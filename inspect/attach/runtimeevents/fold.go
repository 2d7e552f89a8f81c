package runtimeevents

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	containerdevents "github.com/containerd/containerd/api/events"
	"github.com/containerd/containerd/api/services/containers/v1"
	"github.com/containerd/containerd/api/types"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/kubeloupe/kubeloupe/inspect/attach/crilist"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	maxContainers = 1 << 13
	maxSnapshots  = 1 << 10 // that are being unpacked
	maxID         = 128
	// lateExit is how much earlier than its event a process may have exited.
	lateExit = time.Minute
)

// container is one of which events tell.
type container struct {
	crilist.Container
	made, task int64 // when it and its task were created; 0 where that was not seen
	exited     bool
}

// fold makes records of events. It is for one goroutine.
type fold struct {
	containers containers.ContainersClient
	put        func(trace.Record)
	all        map[string]*container
	order      []string
	unpacking  map[string]int64 // when the snapshot for a layer was prepared, by its key
	prepared   []string         // these keys, in order
}

func newFold(c containers.ContainersClient, put func(trace.Record)) *fold {
	return &fold{containers: c, put: put, all: map[string]*container{}, unpacking: map[string]int64{}}
}

// decode reads an event's message; the topic says which one it is.
func decode(env *types.Envelope) proto.Message {
	var m proto.Message
	switch env.GetTopic() {
	case "/tasks/create":
		m = &containerdevents.TaskCreate{}
	case "/tasks/start":
		m = &containerdevents.TaskStart{}
	case "/tasks/exit":
		m = &containerdevents.TaskExit{}
	case "/tasks/oom":
		m = &containerdevents.TaskOOM{}
	case "/containers/create":
		m = &containerdevents.ContainerCreate{}
	case "/containers/delete":
		m = &containerdevents.ContainerDelete{}
	case "/snapshot/prepare":
		m = &containerdevents.SnapshotPrepare{}
	case "/snapshot/commit":
		m = &containerdevents.SnapshotCommit{}
	case "/content/create":
		m = &containerdevents.ContentCreate{}
	default:
		return nil
	}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(env.GetEvent().GetValue(), m); err != nil {
		return nil
	}
	if e, ok := m.(*containerdevents.TaskExit); ok && e.ID != e.ContainerID { // of a command in it, such as a probe's
		return nil
	}
	return m
}

// apply takes an event in.
func (f *fold) apply(ctx context.Context, at int64, m proto.Message) {
	switch e := m.(type) {
	case *containerdevents.ContainerCreate:
		if c := f.learn(ctx, e.ID); c != nil {
			c.made = at
		}
	case *containerdevents.ContainerDelete:
		f.forget(e.ID)
	case *containerdevents.TaskCreate:
		if c := f.all[e.ContainerID]; c != nil {
			c.task = at
			from := int64(0) // a container's is created by another call than itself: merge knows since when that goes on
			if c.Sandbox {
				from = c.made
			}
			f.part(c, trace.SpanNewTask, from, at)
		}
	case *containerdevents.TaskStart:
		if c := f.all[e.ContainerID]; c != nil && c.task != 0 {
			f.part(c, trace.SpanStartTask, c.task, at)
		}
	case *containerdevents.TaskExit:
		f.exit(e, at)
	case *containerdevents.TaskOOM:
		// With cgroup v1, the shim of a sandbox tells what happens in its containers, too.
		if c := f.all[e.ContainerID]; c != nil && !c.Sandbox {
			f.tell(c.Pod, at, &trace.OOMKill{Container: c.ID, Name: c.Name})
		}
	case *containerdevents.ContentCreate:
		if isLayer(e.MediaType) {
			f.tell(trace.Pod{}, at, &trace.RuntimeSpan{Name: trace.SpanLayerArrived, Service: service, Attrs: []trace.KV{
				{K: trace.AttrLayerDigest, V: trace.Clip(e.Digest, maxID)}, {K: trace.AttrLayerSize, V: strconv.FormatInt(e.Size, 10)},
			}})
		}
	case *containerdevents.SnapshotPrepare:
		if isUnpack(e.Key) {
			f.unpacks(e.Key, at)
		}
	case *containerdevents.SnapshotCommit:
		if from := f.unpacking[e.Key]; from != 0 {
			f.tell(trace.Pod{}, at, &trace.RuntimeSpan{Name: trace.SpanLayerUnpacked, Service: service, Start: from, Dur: time.Duration(max(at-from, 0))})
		}
		f.unpacked(e.Key)
	}
}

// service is whose events these are.
const service = "containerd"

// isLayer reports whether content is a layer of an image, by its media type. Docker's and OCI's end so.
func isLayer(mediaType string) bool {
	return strings.Contains(mediaType, "layer") || strings.Contains(mediaType, "rootfs")
}

// isUnpack reports whether a snapshot is that of a layer which is unpacked, by its key.
func isUnpack(key string) bool { return strings.HasPrefix(key, "extract-") && len(key) <= 2*maxID }

// unpacks notes when an unpack began. One that fails, or of a layer that another pull unpacked meanwhile, does not end by an event: the oldest
// is forgotten.
func (f *fold) unpacks(key string, at int64) {
	f.unpacked(key)
	if len(f.prepared) >= maxSnapshots {
		delete(f.unpacking, f.prepared[0])
		f.prepared = f.prepared[1:]
	}
	f.unpacking[key] = at
	f.prepared = append(f.prepared, key)
}

func (f *fold) unpacked(key string) {
	if _, ok := f.unpacking[key]; ok {
		delete(f.unpacking, key)
		f.prepared = slices.DeleteFunc(f.prepared, func(k string) bool { return k == key })
	}
}

// exit is the end of a container's process. Sandboxes have one too, of which nobody waits to hear.
func (f *fold) exit(e *containerdevents.TaskExit, at int64) {
	c := f.all[e.ContainerID]
	if c == nil || c.Sandbox || c.exited {
		return
	}
	c.exited = true
	if t := nanos(e.ExitedAt); t <= at && at-t < int64(lateExit) {
		at = t
	}
	f.tell(c.Pod, at, &trace.PLEGEvent{Type: trace.ContainerDied, Container: c.ID, Name: c.Name, From: trace.PLEGEvented})
}

// part tells of a part of the call that starts a sandbox or container. Where it began is 0 where that is known by the call alone.
func (f *fold) part(c *container, name string, from, to int64) {
	key := trace.AttrContainer
	if c.Sandbox {
		if from == 0 {
			return
		}
		key = trace.AttrSandbox
	}
	e := &trace.RuntimeSpan{Name: name, Service: service, Start: from, Attrs: []trace.KV{{K: key, V: c.ID}}}
	if from != 0 {
		e.Dur = time.Duration(max(to-from, 0))
	}
	f.tell(c.Pod, to, e)
}

func (f *fold) tell(pod trace.Pod, at int64, e trace.Event) {
	f.put(trace.Record{
		Time: at, Observer: trace.ObserverRuntimeEvents, Span: trace.NewSpanID(), Trace: crilist.TraceOf(pod.UID), Pod: pod, Event: e,
	})
}

func nanos(t *timestamppb.Timestamp) int64 {
	return t.GetSeconds()*int64(time.Second) + int64(t.GetNanos())
}
