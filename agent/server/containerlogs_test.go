package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/guestfile"
)

// logged is a runtime with one container, whose log is followed.
type logged struct {
	Runtime // for unused methods
	path    string
	alive   int // how often the container is reported as running before err
	err     error
	asked   func()
}

func (l *logged) ContainerStatus(context.Context, *runtimeapi.ContainerStatusRequest, ...grpc.CallOption) (*runtimeapi.ContainerStatusResponse, error) {
	if l.asked != nil {
		l.asked()
	}
	if err := os.WriteFile(l.path+".other", nil, 0o600); err != nil { // following need not wait before it asks again
		return nil, err
	}
	if l.alive--; l.alive < 0 && l.err != nil {
		return nil, l.err
	}
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{LogPath: l.path, State: runtimeapi.ContainerState_CONTAINER_RUNNING}}, nil
}

// askLog asks for the log of a container with this content, of which only the runtime knows. The runtime is asked once for the log's path.
func askLog(ctx context.Context, t *testing.T, text, query string, runtime *logged) (code int, body, reason string) {
	t.Helper()
	runtime.path = filepath.Join(t.TempDir(), "0.log")
	if err := os.WriteFile(runtime.path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Server{cfg: Config{Runtime: runtime, Observed: observed{}, Files: guestfile.New(guestfile.Config{})}}
	q := &request{pod: &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "web"}}},
		Status: v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{
			Name: "web", ContainerID: "containerd://c1", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}},
		}}},
	}}
	r := httptest.NewRequestWithContext(context.WithValue(ctx, requestKey{}, q), http.MethodGet, "/containerLogs/shop/web/web?"+query, nil)
	r.SetPathValue("pod", "web")
	r.SetPathValue("container", "web")
	w := httptest.NewRecorder()
	s.containerLogs(w, r)
	return w.Code, w.Body.String(), q.Reason
}

// An error is the status of a response that has not begun, and otherwise the end of its text.
func TestErrorsOfLogs(t *testing.T) {
	const one = "2026-01-02T03:04:05Z stdout F one\n"
	junk := `unsupported log format: no RFC 3339 time at its start: "rubbish\n"`
	lost := grpcstatus.Error(codes.Internal, "shim lost")
	long := strings.Repeat("2026-01-02T03:04:05Z stdout F "+strings.Repeat("x", 1023)+"\n", 40) // longer than the buffer
	for _, c := range []struct {
		name, log, query string
		alive            int
		code             int
		want, err        string
	}{
		{"unknown to the runtime", one, "", 0, 400, "unable to retrieve container logs for containerd://c1", lost.Error()},
		{"not a log", "rubbish\n", "", 1, 400, junk, junk},
		{"not a log, followed", "rubbish\n", "follow=true", 1, 400, junk, junk},
		{"nothing sent", "", "follow=true", 1, 400, lost.Error(), lost.Error()},
		{"in the buffer", one, "follow=true", 1, 200, "one\n" + lost.Error(), lost.Error()},
		{"sent", one, "follow=true", 2, 200, "one\n" + lost.Error(), lost.Error()},
		{"the header is sent", one, "follow=true&tailLines=0", 2, 200, lost.Error(), lost.Error()},
		{"more than the buffer", long, "follow=true", 1, 200, strings.Repeat(strings.Repeat("x", 1023)+"\n", 40) + lost.Error(), lost.Error()},
		{"limited", one, "follow=true&limitBytes=2", 1, 200, "on", ""},
		{"no error", one, "", 1, 200, "one\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, body, reason := askLog(t.Context(), t, c.log, c.query, &logged{alive: c.alive, err: lost})
			if code != c.code || body != c.want || reason != c.err {
				t.Errorf("%d %.300q, recorded %q; want %d %.300q, %q", code, body, reason, c.code, c.want, c.err)
			}
		})
	}
}

// To a client that is gone, nothing is written.
func TestLogWithoutClient(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	runtime := &logged{alive: 1, err: grpcstatus.Error(codes.Internal, "shim lost")}
	runtime.asked = func() {
		if runtime.alive == 0 {
			cancel()
		}
	}
	if _, body, reason := askLog(ctx, t, "2026-01-02T03:04:05Z stdout F one\n", "follow=true", runtime); body != "" || reason != "" {
		t.Errorf("%q, recorded %q", body, reason)
	}
}
