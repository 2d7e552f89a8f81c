package apiserver

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

const pod = `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "web", "namespace": "shop", "uid": "u1", "resourceVersion": "%s"},
"spec": {"nodeName": "n1", "terminationGracePeriodSeconds": 30, "containers": [{"name": "app", "image": "r/i:1", "env": [{"name": "A", "value": "secret"}],
"readinessProbe": {"periodSeconds": 10, "httpGet": {"port": 80}}}]}, "status": {"phase": "%s"%s}}`

const event = `{"kind": "Event", "apiVersion": "v1", "metadata": {"name": "e", "namespace": "shop", "resourceVersion": "7"}, "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "%s", "uid": "%s", "fieldPath": "spec.containers{app}"},
"reason": "%s", "message": %q, "type": "Normal", "source": {"component": "c", "host": "%s"}, "lastTimestamp": %q}`

// server is an API server with one pod on node n1, Events of several, and watches that end after what they tell.
func server(t *testing.T) *httptest.Server {
	t.Helper()
	now := time.Now().UTC().Format(time.RFC3339)
	running := `, "containerStatuses": [{"name": "app", "ready": true, "state": {"running": {"startedAt": "` + now + `"}}}], "conditions": [{"type": "Ready", "status": "True"}]`
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		w.Header().Set("Content-Type", "application/json")
		say := func(text string) { fmt.Fprint(w, text) }
		watched := func(kind, text string) { say(fmt.Sprintf(`{"type": %q, "object": %s}`, kind, text) + "\n") }
		switch {
		case r.Header.Get("Authorization") != "Bearer token":
			w.WriteHeader(http.StatusUnauthorized)
			say(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Unauthorized", "code": 401}`)
		case r.URL.Path == "/api/v1/pods" && q.Get("fieldSelector") == "spec.nodeName=n1" && q.Get("watch") == "":
			say(`{"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "5"}, "items": []}`)
		case r.URL.Path == "/api/v1/pods" && q.Get("resourceVersion") == "5":
			watched("ADDED", fmt.Sprintf(pod, "6", "Pending", ""))
			watched("MODIFIED", fmt.Sprintf(pod, "7", "Running", running))
		case r.URL.Path == "/api/v1/events" && q.Get("watch") == "":
			say(`{"kind": "EventList", "apiVersion": "v1", "metadata": {"resourceVersion": "5"}, "items": [` + fmt.Sprintf(event, "web", "u1", "Scheduled", "to n1", "", now) + `]}`)
		case r.URL.Path == "/api/v1/events" && q.Get("resourceVersion") == "5":
			watched("ADDED", fmt.Sprintf(event, "other", "u2", "Pulled", "of another node", "n2", now))
			watched("ADDED", fmt.Sprintf(event, "web", "u1", "Pulled", `Successfully pulled image "r/i:1" in 1s (3s including waiting). Image size: 42 bytes.`, "n1", now))
			watched("BOOKMARK", `{"kind": "Event", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}}`)
		default: // it continues where it ended
			watched("ERROR", `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410, "message": "from `+q.Get("resourceVersion")+`"}`)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func newAPI(t *testing.T, s *httptest.Server, token string) *API {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "c", "user": "u"}}],
"clusters": [{"name": "c", "cluster": {"server": %q, "certificate-authority-data": %q}}], "users": [{"name": "u", "user": {"token": %q}}]}`, s.URL, base64.StdEncoding.EncodeToString(ca), token)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := Access{Kubeconfig: file}.Config()
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(cfg, "n1", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// told writes records.
func told(t *testing.T, recs *[]string) func(trace.Record) {
	return func(r trace.Record) {
		what := ""
		switch e := r.Event.(type) {
		case *trace.Milestone:
			what = string(e.Name)
			if e.Spec != nil {
				what += fmt.Sprintf(" %d s, %+v", e.Spec.Grace, e.Spec.Containers)
			}
		case *trace.PodStatus:
			what = fmt.Sprintf("%s %d/%d", e.Phase, e.Ready, e.Total)
		case *trace.NodeEvent:
			what = e.Reason + " " + e.Field
		case *trace.Action:
			what = e.ID + " " + r.Dur.String()
		case *trace.ImagePull:
			what = fmt.Sprintf("pull %s %d %s", e.Image, e.Bytes, r.Dur)
		case *trace.Wait:
			what = string(e.For) + " " + r.Dur.String()
		}
		if r.Observer != trace.ObserverAPIServer || r.Precision.Duration() > 2*time.Second || time.Since(r.At()) > time.Minute {
			t.Errorf("got %+v", r)
		}
		*recs = append(*recs, r.Pod.String()+" "+what)
	}
}

// TestAPI reads pods and Events: those of the node, with the Event that came before its pod, and nothing of environments.
func TestAPI(t *testing.T) {
	a := newAPI(t, server(t), "token")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []string
	if err := a.Events(ctx, told(t, &got)); err == nil || !strings.Contains(err.Error(), "from 9") {
		t.Errorf("Events end with %v", err)
	}
	if err := a.Pods(ctx, told(t, &got)); err == nil || !strings.Contains(err.Error(), "from 7") {
		t.Errorf("pods end with %v", err)
	}
	want := []string{
		"shop/web Pulled spec.containers{app}", "shop/web image app 3s", "shop/web pull r/i:1 42 3s", "shop/web other-pull 2s",
		"shop/web seen 30 s, [{Name:app Image:r/i:1 Sidecar:false MemoryLimit:0 Probes:[{Probe:readiness How:httpGet Delay:0s Period:10s Timeout:0s Success:0 Failure:0}] Clipped:0}]",
		"shop/web Pending 0/1", "shop/web Scheduled spec.containers{app}", "shop/web started", "shop/web ready", "shop/web Running 1/1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, run := range []func(context.Context, func(trace.Record)) error{newAPI(t, server(t), "wrong").Pods, newAPI(t, server(t), "wrong").Events} {
		if err := run(ctx, nil); !errors.Is(err, ErrDenied) {
			t.Errorf("with wrong credentials: %v", err)
		}
	}
}

// TestListedAgain lists Events once more when the watch has broken: those that were passed on are not again.
func TestListedAgain(t *testing.T) {
	now := time.Now().UTC().Format(time.RFC3339)
	listed := 0
	one := func(version, reason string) string {
		return strings.Replace(fmt.Sprintf(event, "web", "u1", reason, "m", "n1", now), `"resourceVersion": "7"`, `"resourceVersion": "`+version+`"`, 1)
	}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") != "" {
			if r.URL.Query().Get("resourceVersion") == "9" {
				fmt.Fprintf(w, `{"type": "ADDED", "object": %s}`+"\n", one("10", "Pulled"))
			}
			fmt.Fprintln(w, `{"type": "ERROR", "object": {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410}}`)
			return
		}
		version, all := "9", []string{one("8", "Scheduled")}
		switch listed++; listed {
		case 2:
			version, all = "12", append(all, one("10", "Pulled"), one("12", "Created"))
		case 3: // restored from a backup
			version, all = "3", []string{one("2", "Started")}
		}
		fmt.Fprintf(w, `{"kind": "EventList", "apiVersion": "v1", "metadata": {"resourceVersion": %q}, "items": [%s]}`, version, strings.Join(all, ","))
	}))
	t.Cleanup(s.Close)
	a := newAPI(t, s, "token")
	var got []string
	for range 3 {
		if err := a.Events(t.Context(), told(t, &got)); err == nil {
			t.Error("the watch does not end")
		}
	}
	field := " spec.containers{app}"
	if diff := cmp.Diff([]string{"shop/web Scheduled" + field, "shop/web Pulled" + field, "shop/web Created" + field, "shop/web Started" + field}, got); diff != "" {
		t.Error(diff)
	}
}

// TestWaiting keeps a bounded part of the Events about pods that nobody knows.
func TestWaiting(t *testing.T) {
	var w waiting
	now := time.Unix(1000, 0)
	for i := range 3 * maxWaiting {
		w.add(fmt.Sprint("u", i%(2*maxWaiting)), make([]trace.Record, 1), now)
	}
	if len(w.all) > maxWaiting || len(w.of) > maxWaiting {
		t.Errorf("%d and %d wait", len(w.all), len(w.of))
	}
	w.add("late", make([]trace.Record, 1), now.Add(2*maxWait))
	if got := len(w.take("late")); len(w.of) != 0 || got != 1 {
		t.Errorf("%d are left, %d were taken", len(w.of), got)
	}
}

func TestSeenAt(t *testing.T) {
	now := time.Unix(100, 3e8)
	for _, c := range []struct {
		last, at  time.Time
		precision time.Duration
	}{{time.Unix(100, 0), now, 300 * time.Millisecond}, {time.Unix(101, 0), now, time.Second}, {time.Unix(90, 0), time.Unix(90, 0), time.Second}} {
		if at, p := seenAt(c.last, now); !at.Equal(c.at) || p != c.precision {
			t.Errorf("%v: got %v, %v", c.last, at, p)
		}
	}
}
