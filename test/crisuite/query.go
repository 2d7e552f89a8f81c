package crisuite

import (
	"errors"
	"io"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func (s *suite) testSandboxFilters(t *testing.T) {
	a, b := s.run(t), s.run(t)
	_, err := s.Runtime.StopPodSandbox(s.ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: b.id})
	check(t, err)
	state := func(st runtimeapi.PodSandboxState) *runtimeapi.PodSandboxStateValue {
		return &runtimeapi.PodSandboxStateValue{State: st}
	}
	ready, notReady := runtimeapi.PodSandboxState_SANDBOX_READY, runtimeapi.PodSandboxState_SANDBOX_NOTREADY
	for name, tc := range map[string]struct {
		filter *runtimeapi.PodSandboxFilter
		a, b   bool
	}{
		"none":          {nil, true, true},
		"empty":         {&runtimeapi.PodSandboxFilter{}, true, true},
		"id":            {&runtimeapi.PodSandboxFilter{Id: a.id}, true, false},
		"short id":      {&runtimeapi.PodSandboxFilter{Id: b.id[:13]}, false, true},
		"unknown id":    {&runtimeapi.PodSandboxFilter{Id: "nosuch"}, false, false},
		"ready":         {&runtimeapi.PodSandboxFilter{State: state(ready)}, true, false},
		"not ready":     {&runtimeapi.PodSandboxFilter{State: state(notReady)}, false, true},
		"label":         {&runtimeapi.PodSandboxFilter{LabelSelector: map[string]string{"uid": a.config.GetMetadata().GetUid()}}, true, false},
		"two labels":    {&runtimeapi.PodSandboxFilter{LabelSelector: b.config.GetLabels()}, false, true},
		"one too many":  {&runtimeapi.PodSandboxFilter{LabelSelector: map[string]string{"suite": "crisuite", "no": "such"}}, false, false},
		"id and state":  {&runtimeapi.PodSandboxFilter{Id: a.id, State: state(notReady)}, false, false},
		"label, no key": {&runtimeapi.PodSandboxFilter{LabelSelector: map[string]string{"no": ""}}, false, false},
	} {
		list, err := s.Runtime.ListPodSandbox(s.ctx, &runtimeapi.ListPodSandboxRequest{Filter: tc.filter})
		check(t, err)
		has := func(id string) bool {
			return slices.ContainsFunc(list.GetItems(), func(sb *runtimeapi.PodSandbox) bool { return sb.GetId() == id })
		}
		equal(t, name+": lists the ready sandbox", has(a.id), tc.a)
		equal(t, name+": lists the stopped sandbox", has(b.id), tc.b)
	}
	list, err := s.Runtime.ListPodSandbox(s.ctx, &runtimeapi.ListPodSandboxRequest{Filter: &runtimeapi.PodSandboxFilter{Id: a.id}})
	check(t, err)
	for _, sb := range list.GetItems() {
		equal(t, "state in the list", sb.GetState(), ready)
		equal(t, "uid in the list", sb.GetMetadata().GetUid(), a.config.GetMetadata().GetUid())
		equal(t, "annotation in the list", sb.GetAnnotations()["note"], a.config.GetAnnotations()["note"])
	}
}

func (s *suite) testContainerFilters(t *testing.T) {
	p, q := s.run(t), s.run(t)
	a := p.start(t, "sleep 1000")
	b := q.create(t, q.container("true"))
	state := func(st runtimeapi.ContainerState) *runtimeapi.ContainerStateValue {
		return &runtimeapi.ContainerStateValue{State: st}
	}
	for name, tc := range map[string]struct {
		filter *runtimeapi.ContainerFilter
		a, b   bool
	}{
		"none":          {nil, true, true},
		"id":            {&runtimeapi.ContainerFilter{Id: a}, true, false},
		"short id":      {&runtimeapi.ContainerFilter{Id: b[:13]}, false, true},
		"sandbox":       {&runtimeapi.ContainerFilter{PodSandboxId: q.id}, false, true},
		"short sandbox": {&runtimeapi.ContainerFilter{PodSandboxId: p.id[:13]}, true, false},
		"wrong sandbox": {&runtimeapi.ContainerFilter{Id: a, PodSandboxId: q.id}, false, false},
		"running":       {&runtimeapi.ContainerFilter{State: state(runtimeapi.ContainerState_CONTAINER_RUNNING)}, true, false},
		"created":       {&runtimeapi.ContainerFilter{State: state(runtimeapi.ContainerState_CONTAINER_CREATED)}, false, true},
		"label":         {&runtimeapi.ContainerFilter{LabelSelector: map[string]string{"uid": p.config.GetMetadata().GetUid()}}, true, false},
		"unknown":       {&runtimeapi.ContainerFilter{Id: "nosuch"}, false, false},
	} {
		list, err := s.Runtime.ListContainers(s.ctx, &runtimeapi.ListContainersRequest{Filter: tc.filter})
		check(t, err)
		has := func(id string) bool {
			return slices.ContainsFunc(list.GetContainers(), func(c *runtimeapi.Container) bool { return c.GetId() == id })
		}
		equal(t, name+": lists the running container", has(a), tc.a)
		equal(t, name+": lists the created container", has(b), tc.b)
	}
	list, err := s.Runtime.ListContainers(s.ctx, &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{Id: a}})
	check(t, err)
	for _, c := range list.GetContainers() {
		st := s.status(t, a)
		equal(t, "sandbox in the list", c.GetPodSandboxId(), p.id)
		equal(t, "image id in the list", c.GetImageId(), st.GetImageId())
		equal(t, "image ref in the list", c.GetImageRef(), st.GetImageId())
		equal(t, "image in the list", c.GetImage().GetImage(), s.Busybox)
		equal(t, "creation time in the list", c.GetCreatedAt(), st.GetCreatedAt())
	}
}

// testStreams: a server that has the streaming lists streams what it lists.
func (s *suite) testStreams(t *testing.T) {
	p := s.run(t)
	id := p.start(t, "sleep 1000")
	sandboxes, err := s.Runtime.StreamPodSandboxes(s.ctx, &runtimeapi.StreamPodSandboxesRequest{Filter: &runtimeapi.PodSandboxFilter{Id: p.id}})
	check(t, err)
	n := 0
	drain(t, sandboxes, func(r *runtimeapi.StreamPodSandboxesResponse) { n += len(r.GetPodSandboxes()) })
	equal(t, "streamed sandboxes", n, 1)
	containers, err := s.Runtime.StreamContainers(s.ctx, &runtimeapi.StreamContainersRequest{Filter: &runtimeapi.ContainerFilter{Id: id}})
	check(t, err)
	n = 0
	drain(t, containers, func(r *runtimeapi.StreamContainersResponse) { n += len(r.GetContainers()) })
	equal(t, "streamed containers", n, 1)
	images, err := s.Image.StreamImages(s.ctx, &runtimeapi.StreamImagesRequest{})
	check(t, err)
	found := false
	drain(t, images, func(r *runtimeapi.StreamImagesResponse) {
		found = found || slices.ContainsFunc(r.GetImages(), func(i *runtimeapi.Image) bool { return slices.Contains(i.GetRepoTags(), s.Busybox) })
	})
	equal(t, "streamed images have busybox", found, true)
}

func drain[T any](t *testing.T, stream grpc.ServerStreamingClient[T], each func(*T)) {
	t.Helper()
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return
		}
		if status.Code(err) == codes.Unimplemented {
			t.Skip("the server has no streaming lists")
		}
		check(t, err)
		each(m)
	}
}

func (s *suite) testUnknown(t *testing.T) {
	for name, call := range map[string]func() error{
		"PodSandboxStatus": func() error {
			_, err := s.Runtime.PodSandboxStatus(s.ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: "nosuch"})
			return err
		},
		"ContainerStatus": func() error {
			_, err := s.Runtime.ContainerStatus(s.ctx, &runtimeapi.ContainerStatusRequest{ContainerId: "nosuch"})
			return err
		},
		"ContainerStats": func() error {
			_, err := s.Runtime.ContainerStats(s.ctx, &runtimeapi.ContainerStatsRequest{ContainerId: "nosuch"})
			return err
		},
		"PodSandboxStats": func() error {
			_, err := s.Runtime.PodSandboxStats(s.ctx, &runtimeapi.PodSandboxStatsRequest{PodSandboxId: "nosuch"})
			return err
		},
		"UpdateContainerResources": func() error {
			_, err := s.Runtime.UpdateContainerResources(s.ctx, &runtimeapi.UpdateContainerResourcesRequest{ContainerId: "nosuch"})
			return err
		},
		"UpdatePodSandboxResources": func() error {
			_, err := s.Runtime.UpdatePodSandboxResources(s.ctx, &runtimeapi.UpdatePodSandboxResourcesRequest{PodSandboxId: "nosuch"})
			return err
		},
		"ReopenContainerLog": func() error {
			_, err := s.Runtime.ReopenContainerLog(s.ctx, &runtimeapi.ReopenContainerLogRequest{ContainerId: "nosuch"})
			return err
		},
		"ExecSync": func() error {
			_, err := s.Runtime.ExecSync(s.ctx, &runtimeapi.ExecSyncRequest{ContainerId: "nosuch", Cmd: []string{"true"}})
			return err
		},
	} {
		if err := call(); status.Code(err) != codes.NotFound {
			t.Errorf("%s of an unknown id: %v, want code NotFound", name, err)
		}
	}
}
