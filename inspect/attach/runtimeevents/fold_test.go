package runtimeevents

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	containerdevents "github.com/containerd/containerd/api/events"
	"github.com/containerd/containerd/api/services/containers/v1"
	"github.com/containerd/containerd/api/types"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/kubeloupe/kubeloupe/inspect/attach/crilist"
	"github.com/kubeloupe/kubeloupe/trace"
)

// labels is a containerd that knows the labels of containers.
type labels struct {
	containers.ContainersClient
	of map[string]map[string]string
}

func (l labels) Get(_ context.Context, r *containers.GetContainerRequest, _ ...grpc.CallOption) (*containers.GetContainerResponse, error) {
	of, ok := l.of[r.ID]
	if !ok {
		return nil, errors.New("not found")
	}
	return &containers.GetContainerResponse{Container: &containers.Container{ID: r.ID, Labels: of}}, nil
}

func TestFold(t *testing.T) {
	at := time.Unix(100, 0)
	exit := func(id, process string, ago time.Duration) proto.Message {
		return &containerdevents.TaskExit{ContainerID: id, ID: process, ExitedAt: timestamppb.New(at.Add(-ago))}
	}
	layer := "application/vnd.oci.image.layer.v1.tar+gzip"
	for name, c := range map[string]struct {
		events []proto.Message // one second apart
		want   []string
	}{
		"a start": {
			[]proto.Message{
				&containerdevents.ContainerCreate{ID: "s"}, &containerdevents.TaskCreate{ContainerID: "s"}, &containerdevents.TaskStart{ContainerID: "s"},
				&containerdevents.ContainerCreate{ID: "c"}, &containerdevents.TaskCreate{ContainerID: "c"}, &containerdevents.TaskStart{ContainerID: "c"},
			},
			[]string{
				"101 a/b container.NewTask 100+1s sandbox.id=s", "102 a/b client.task.Start 101+1s sandbox.id=s",
				"104 a/b container.NewTask 0+0s container.id=c", "105 a/b client.task.Start 104+1s container.id=c",
			},
		},
		"an end": {
			[]proto.Message{
				exit("known", "known", time.Second), exit("known", "known", 0), // a second time
				&containerdevents.TaskOOM{ContainerID: "other"}, &containerdevents.TaskOOM{ContainerID: "stranger"}, &containerdevents.TaskOOM{ContainerID: "box"},
				exit("box", "box", 0), exit("stranger", "stranger", 0), exit("other", "other", time.Hour),
			},
			[]string{"99 a/b ContainerDied known web", "102 a/b oom other side", "107 a/b ContainerDied other side"},
		},
		"a probe's command ends":         {[]proto.Message{exit("known", "probe", 0)}, nil},
		"a container of no pod":          {[]proto.Message{&containerdevents.ContainerCreate{ID: "alone"}, &containerdevents.TaskCreate{ContainerID: "alone"}, exit("alone", "alone", 0)}, nil},
		"a container that nobody knows":  {[]proto.Message{&containerdevents.ContainerCreate{ID: "lost"}, &containerdevents.TaskCreate{ContainerID: "lost"}}, nil},
		"a container that was there":     {[]proto.Message{&containerdevents.TaskStart{ContainerID: "known"}}, nil},
		"a container that is deleted":    {[]proto.Message{&containerdevents.ContainerDelete{ID: "known"}, exit("known", "known", 0)}, nil},
		"a sandbox that was there":       {[]proto.Message{&containerdevents.TaskCreate{ContainerID: "box"}}, nil},
		"an exit that is told much late": {[]proto.Message{exit("known", "known", time.Hour)}, []string{"100 a/b ContainerDied known web"}},
		"a pull": {
			[]proto.Message{
				&containerdevents.ContentCreate{Digest: "sha256:m", Size: 9, MediaType: "application/vnd.oci.image.manifest.v1+json"},
				&containerdevents.SnapshotPrepare{Key: "extract-1 sha256:x"}, &containerdevents.SnapshotPrepare{Key: "s"},
				&containerdevents.ContentCreate{Digest: "sha256:l", Size: 7, MediaType: layer},
				&containerdevents.ContentCreate{Digest: "sha256:d", Size: 8, MediaType: "application/vnd.docker.image.rootfs.diff.tar.gzip"},
				&containerdevents.SnapshotCommit{Key: "extract-1 sha256:x", Name: "sha256:x"}, &containerdevents.SnapshotCommit{Key: "extract-2 sha256:y"},
			},
			[]string{
				"103  layer arrived 0+0s layer.media.digest=sha256:l layer.media.size=7", "104  layer arrived 0+0s layer.media.digest=sha256:d layer.media.size=8",
				"105  layer unpacked 101+4s",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			of := map[string]map[string]string{
				"s": {labelKind: kindSandbox, labelNamespace: "a", labelPod: "b", labelUID: "u"}, "alone": {},
				"c": {labelKind: "container", labelNamespace: "a", labelPod: "b", labelUID: "u", labelContainer: "web"},
			}
			f := newFold(labels{of: of}, func(r trace.Record) {
				s := fmt.Sprintf("%d %s ", r.Time/int64(time.Second), r.Pod)
				switch e := r.Event.(type) {
				case *trace.PLEGEvent:
					s += fmt.Sprintf("%s %s %s", e.Type, e.Container, e.Name)
				case *trace.OOMKill:
					s += fmt.Sprintf("oom %s %s", e.Container, e.Name)
				case *trace.RuntimeSpan:
					s += fmt.Sprintf("%s %d+%v", e.Name, e.Start/int64(time.Second), e.Dur)
					for _, a := range e.Attrs {
						s += " " + a.K + "=" + a.V
					}
				}
				got = append(got, strings.TrimSpace(s))
				if r.Observer != trace.ObserverRuntimeEvents || r.Span == 0 {
					t.Errorf("%s: %+v", s, r)
				}
			})
			pod := trace.Pod{Namespace: "a", Name: "b", UID: "u"}
			for _, k := range []crilist.Container{{ID: "known", Name: "web", Pod: pod}, {ID: "other", Name: "side", Pod: pod}, {ID: "box", Sandbox: true, Pod: pod}} {
				f.know(k)
			}
			for i, e := range c.events {
				raw, err := proto.Marshal(e)
				if err != nil {
					t.Fatal(err)
				}
				if m := decode(&types.Envelope{Topic: topicOf(t, e), Event: &anypb.Any{Value: raw}}); m != nil {
					f.apply(t.Context(), at.Add(time.Duration(i)*time.Second).UnixNano(), m)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func topicOf(t *testing.T, m proto.Message) string {
	t.Helper()
	switch m.(type) {
	case *containerdevents.TaskCreate:
		return "/tasks/create"
	case *containerdevents.TaskStart:
		return "/tasks/start"
	case *containerdevents.TaskExit:
		return "/tasks/exit"
	case *containerdevents.TaskOOM:
		return "/tasks/oom"
	case *containerdevents.ContainerCreate:
		return "/containers/create"
	case *containerdevents.ContainerDelete:
		return "/containers/delete"
	case *containerdevents.SnapshotPrepare:
		return "/snapshot/prepare"
	case *containerdevents.SnapshotCommit:
		return "/snapshot/commit"
	case *containerdevents.ContentCreate:
		return "/content/create"
	}
	t.Fatalf("%T has no topic", m)
	return ""
}

// TestLong watches a containerd for long: a container that stays is known after many others came and went, and unpacks that never ended do not
// hide the next one.
func TestLong(t *testing.T) {
	var told []string
	f := newFold(labels{}, func(r trace.Record) { told = append(told, fmt.Sprintf("%s %T", r.Pod.Name, r.Event)) })
	know := func(id, pod string) {
		f.know(crilist.Container{ID: id, Name: "c", Pod: trace.Pod{Namespace: "a", Name: pod, UID: "u"}})
	}
	know("stays", "proxy")
	for i := range maxContainers + 1 {
		id := fmt.Sprint(i)
		know(id, "job")
		f.apply(t.Context(), 1, &containerdevents.ContainerDelete{ID: id})
	}
	for i := range maxSnapshots + 1 {
		f.apply(t.Context(), int64(i+1), &containerdevents.SnapshotPrepare{Key: fmt.Sprintf("extract-%d sha256:x", i)})
	}
	f.apply(t.Context(), 1<<20, &containerdevents.TaskOOM{ContainerID: "stays"})
	f.apply(t.Context(), 1<<20, &containerdevents.SnapshotCommit{Key: fmt.Sprintf("extract-%d sha256:x", maxSnapshots)})
	f.apply(t.Context(), 1<<20, &containerdevents.SnapshotCommit{Key: "extract-0 sha256:x"})
	if diff := cmp.Diff([]string{"proxy *trace.OOMKill", " *trace.RuntimeSpan"}, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(f.order) != 1 {
		t.Errorf("%d containers are kept", len(f.order))
	}
}

// TestHostile takes in what no containerd sends: nothing is kept without bounds, and no text is kept in full.
func TestHostile(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	var recs []trace.Record
	f := newFold(labels{of: map[string]map[string]string{"c": {labelNamespace: long, labelPod: long, labelUID: long, labelContainer: long}}}, func(r trace.Record) { recs = append(recs, r) })
	for i := range 4 * maxContainers {
		f.know(crilist.Container{ID: fmt.Sprint(i), Name: "c", Pod: trace.Pod{Namespace: "a", Name: "b", UID: "u"}})
		f.apply(t.Context(), 1, &containerdevents.SnapshotPrepare{Key: fmt.Sprintf("extract-%d sha256:x", i)})
	}
	f.apply(t.Context(), 1, &containerdevents.SnapshotPrepare{Key: "extract-" + long})
	if len(f.all) > maxContainers || len(f.order) > maxContainers || len(f.unpacking) > maxSnapshots {
		t.Errorf("%d containers, %d snapshots are kept", len(f.all), len(f.unpacking))
	}
	f.apply(t.Context(), 1, &containerdevents.ContainerCreate{ID: "c"})
	f.apply(t.Context(), 1, &containerdevents.TaskOOM{ContainerID: "c"})
	f.apply(t.Context(), 1, &containerdevents.ContentCreate{Digest: long, MediaType: "layer"})
	if len(recs) != 2 || len(recs[0].Pod.Name)+len(recs[0].Pod.UID) > 4*maxLabel {
		t.Errorf("got %d records; the first one is of a pod with a name of %d bytes", len(recs), len(recs[0].Pod.Name))
	}
	for _, env := range []*types.Envelope{nil, {}, {Topic: "/tasks/exit"}, {Topic: "/tasks/exit", Event: &anypb.Any{Value: []byte("garbage")}}} {
		if m := decode(env); m != nil {
			f.apply(t.Context(), 1, m)
		}
	}
}
