package cri

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Values that are secret by their type, or known to be secret, are neither shown nor kept.
func TestRedactByKindAndValue(t *testing.T) {
	blank := func(s string) string { return strings.ReplaceAll(s, "c4nary", "***") }
	for _, tc := range []struct {
		name string
		in   proto.Message
		want string
	}{
		{"a user's command", &runtimeapi.ExecRequest{ContainerId: "c", Cmd: []string{"mysql", "-pc4nary", "x"}}, `{"containerId":"c","cmd":["mysql","[redacted]","[redacted]"]}`},
		{"no command", &runtimeapi.ExecRequest{ContainerId: "c"}, `{"containerId":"c"}`},
		{"a stream's URL", &runtimeapi.ExecResponse{Url: "http://127.0.0.1:3/exec/t0ken?x=1"}, `{"url":"http://127.0.0.1:3/exec/[redacted]"}`},
		{"attach", &runtimeapi.AttachResponse{Url: "http://127.0.0.1:3/attach/t0ken"}, `{"url":"http://127.0.0.1:3/attach/[redacted]"}`},
		{"port-forward", &runtimeapi.PortForwardResponse{Url: "http://127.0.0.1:3/portforward/t0ken"}, `{"url":"http://127.0.0.1:3/portforward/[redacted]"}`},
		{"verbose information", &runtimeapi.ContainerStatusResponse{Info: map[string]string{"info": "c4nary"}}, `{}`},
		{"a message", &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{Id: "c4nary-id", Message: `exec: "c4nary"`}}, `{"status":{"id":"***-id","message":"exec: \"***\""}}`},
		{"names stay", &runtimeapi.ContainerStatus{Metadata: &runtimeapi.ContainerMetadata{Name: "c4nary"}, Labels: map[string]string{"a": "c4nary"}}, `{"metadata":{"name":"c4nary"},"labels":{"a":"c4nary"}}`},
		{"an environment", &runtimeapi.CreateContainerRequest{Config: &runtimeapi.ContainerConfig{
			Envs: []*runtimeapi.KeyValue{{Key: "URL", Value: []byte("pg://c4nary@db")}}, Args: []string{"-p=c4nary"}, Annotations: map[string]string{"a": "c4nary"},
		}}, `{"config":{"annotations":{"a":"***"},"args":["-p=***"],"envs":[{"key":"URL","value":"pg://***@db"}]}}`},
		{"an image's annotations, which are the pod's", &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: "c4nary", Annotations: map[string]string{
			"kubectl.kubernetes.io/last-applied-configuration": "{}", "api-token": "x", "a": "c4nary",
		}}}, `{"image":{"annotations":{"a":"***","api-token":"[redacted]","kubectl.kubernetes.io/last-applied-configuration":"[redacted]"},"image":"c4nary"}}`},
		{"a login", &runtimeapi.PullImageRequest{Auth: &runtimeapi.AuthConfig{Username: "u", Password: "c4nary"}}, `{"auth":{"password":"[redacted]","username":"[redacted]"}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := proto.Clone(tc.in)
			body := bodyOf(tc.in, blank)
			for _, m := range []json.Marshaler{body, Readable(tc.in, blank)} {
				got, err := json.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				// protojson's whitespace is not stable
				var a, b any
				if json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(tc.want), &b) != nil {
					t.Fatalf("%s", got)
				}
				g, _ := json.Marshal(a)
				w, _ := json.Marshal(b)
				if string(g) != string(w) {
					t.Errorf("got %s, want %s", g, w)
				}
			}
			if !proto.Equal(before, tc.in) {
				t.Error("what is sent was changed")
			}
		})
	}
}

// The redacted form is shown for its own request only.
func TestShown(t *testing.T) {
	sent, shown, other := &runtimeapi.CreateContainerRequest{}, &runtimeapi.CreateContainerRequest{}, &runtimeapi.CreateContainerRequest{}
	ctx := WithShown(t.Context(), sent, shown)
	if Shown(ctx, sent) != shown || Shown(ctx, other) != other || Shown(t.Context(), sent) != sent {
		t.Error("the wrong request is shown")
	}
}
