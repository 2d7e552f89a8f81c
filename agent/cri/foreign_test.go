package cri

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Of another program's calls, values of variables are redacted everywhere; names are not.
func TestForeign(t *testing.T) {
	f := NewForeign()
	pod := trace.Pod{Namespace: "shop", Name: "web", UID: "u1"}
	req := &runtimeapi.CreateContainerRequest{
		PodSandboxId:  "s1",
		SandboxConfig: &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Namespace: "shop", Name: "web", Uid: "u1"}, LogDirectory: "/var/log/pods/shop_web_u1"},
		Config: &runtimeapi.ContainerConfig{
			Metadata: &runtimeapi.ContainerMetadata{Name: "main"}, Args: []string{"--url=pg://c4nary-value@db", "shop", "web"},
			Envs: []*runtimeapi.KeyValue{{Key: "URL", Value: []byte("c4nary-value")}, {Key: "NAME", Value: []byte("web")}, {Key: "EMPTY"}},
		},
	}
	call := f.Request(pod, "CreateContainer", req)
	text := func(b json.Marshaler) string {
		p, err := b.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		return string(p)
	}
	for _, got := range []string{text(call.Request), text(f.Readable(pod, req))} {
		if strings.Contains(got, "c4nary") || !strings.Contains(got, "URL") || !strings.Contains(got, "shop_web_u1") || !strings.Contains(got, `"web"`) {
			t.Errorf("%s", got)
		}
	}
	if string(req.GetConfig().GetEnvs()[0].GetValue()) != "c4nary-value" {
		t.Error("the request was changed")
	}
	// The runtime's message about the container does not have it either.
	f.Reply(pod, &call, &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{Metadata: &runtimeapi.ContainerMetadata{Name: "main"}, Message: `exec: "c4nary-value"`}}, nil)
	if got := text(call.Response); strings.Contains(got, "c4nary") || call.Code != "OK" {
		t.Errorf("%s: %s", call.Code, got)
	}
	bus := trace.NewBus(0)
	bus.Scrub(f.Scrubber())
	cur := bus.Subscribe(trace.FromOldest)
	defer cur.Close()
	f.Reply(pod, &call, nil, errors.New("exec c4nary-value: not found"))
	trace.Point(bus, trace.ForPod(trace.Span{}, pod), call)
	recs, _, err := cur.Next(t.Context(), make([]trace.Record, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := recs[0].Event.(*trace.CRICall); !ok || strings.Contains(e.Err, "c4nary") || e.Code != "Unknown" {
		t.Errorf("%+v", recs[0].Event)
	}
	// For a container whose creation it did not see, nothing is shown that may contain a value.
	f.Reply(pod, &call, &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{Metadata: &runtimeapi.ContainerMetadata{Name: "old"}, Message: "other"}}, nil)
	if got := text(call.Response); strings.Contains(got, "other") {
		t.Errorf("%s", got)
	}
	f.Forget(pod)
}

// The cost of describing a call that a kubelet makes often.
func BenchmarkForeign(b *testing.B) {
	f := NewForeign()
	pod := trace.Pod{Namespace: "shop", Name: "web", UID: "u1"}
	create := &runtimeapi.CreateContainerRequest{
		PodSandboxId:  "s1",
		SandboxConfig: &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Namespace: "shop", Name: "web", Uid: "u1"}, LogDirectory: "/var/log/pods/shop_web_u1", Labels: map[string]string{"app": "web"}},
		Config:        &runtimeapi.ContainerConfig{Metadata: &runtimeapi.ContainerMetadata{Name: "main"}},
	}
	for range 30 {
		create.Config.Envs = append(create.Config.Envs, &runtimeapi.KeyValue{Key: "SOME_SERVICE_PORT", Value: []byte("tcp://10.96.0.1:443")})
		create.Config.Mounts = append(create.Config.Mounts, &runtimeapi.Mount{ContainerPath: "/etc/hosts", HostPath: "/var/lib/kubelet/pods/u1/etc-hosts"})
	}
	status := &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{
		Id: "c1", Metadata: &runtimeapi.ContainerMetadata{Name: "main"}, Labels: create.GetSandboxConfig().GetLabels(), Mounts: create.GetConfig().GetMounts(),
	}}
	b.Run("CreateContainer", func(b *testing.B) {
		for b.Loop() {
			f.Request(pod, "CreateContainer", create)
		}
	})
	b.Run("ContainerStatus", func(b *testing.B) {
		for b.Loop() {
			call := trace.CRICall{Method: "ContainerStatus"}
			f.Reply(pod, &call, status, nil)
		}
	})
	b.Run("Version", func(b *testing.B) {
		for b.Loop() {
			call := f.Request(trace.Pod{}, "Version", &runtimeapi.VersionRequest{})
			f.Reply(trace.Pod{}, &call, &runtimeapi.VersionResponse{RuntimeName: "containerd", RuntimeVersion: "v2.4.2"}, nil)
		}
	})
}
