package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/bundle"
	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/trace"
)

var data = filepath.Join("..", "kubeletlog", "testdata")

// all reads a stream to its end.
func all(t *testing.T, s *bundle.Source) (recs []trace.Record, lost uint64) {
	t.Helper()
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for {
		some, missing, err := s.Next(context.Background(), make([]trace.Record, 0, 64))
		recs, lost = append(recs, some...), lost+missing
		if errors.Is(err, io.EOF) {
			return recs, lost
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func open(t *testing.T, paths ...string) *bundle.Source {
	t.Helper()
	s, err := bundle.Open(t.Context(), paths, bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTwoLogs reads a kubelet's log and its runtime's as one: in order, with what several told of one thing, and with the kubelet's zone.
func TestTwoLogs(t *testing.T) {
	s := open(t, filepath.Join(data, "v2.log.gz"), filepath.Join(data, "v2.containerd.log.gz"))
	recs, lost := all(t, s)
	for i := 1; i < len(recs); i++ {
		if recs[i].Time < recs[i-1].Time {
			t.Errorf("record %d comes %v too late", i, time.Duration(recs[i-1].Time-recs[i].Time))
		}
	}
	also := 0
	for i := range recs {
		if recs[i].Also != 0 {
			also++
		}
	}
	told := s.Told()
	if lost != 0 || also == 0 || told.Level != 2 || told.Calls == 0 || told.Entries == 0 || told.Zone == nil || *told.Zone != 0 || told.Merged.Shared == 0 {
		t.Errorf("lost %d, %d records of several observers, told %+v", lost, also, told)
	}
	said := strings.Join(bundle.SeenBy(told), "\n")
	for _, want := range []string{"kubelet log V2", "container runtime log", "UTC", "raise the kubelet to V4"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in:\n%s", want, said)
		}
	}
}

// TestZone finds out the zone of a kubelet by what the runtime's log has of the same.
func TestZone(t *testing.T) {
	dir := t.TempDir()
	id := strings.Repeat("ab", 32)
	write(t, dir, "kubelet.log", `I1123 13:30:00.000000 1 a.go:1] "SyncLoop ADD" source="api" pods=["shop/web"]
I1123 13:30:02.000000 1 a.go:1] "SyncLoop (PLEG): event for pod" pod="shop/web" event={"ID":"u1","Type":"ContainerStarted","Data":"`+id+`"}
`)
	write(t, dir, "containerd.log", `time="2026-11-23T08:00:01Z" level=info msg="StartContainer for \"`+id+`\" returns successfully"`+"\n")
	for _, f := range []string{"kubelet.log", "containerd.log"} {
		at := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
		if err := os.Chtimes(filepath.Join(dir, f), at, at); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, dir)
	recs, _ := all(t, s)
	if told := s.Told(); told.Zone == nil || *told.Zone != 5*time.Hour+30*time.Minute {
		t.Errorf("told %+v", told)
	}
	if got := recs[0].At().UTC(); got.Hour() != 8 || got.Minute() != 0 {
		t.Errorf("the first record is of %v", got)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRotated puts the pieces of one log into their order.
func TestRotated(t *testing.T) {
	dir := t.TempDir()
	line := func(n int) string {
		return fmt.Sprintf("I1123 08:00:%02d.000000 1 a.go:1] \"SyncLoop ADD\" source=\"api\" pods=[\"shop/p%d\"]\n", n, n)
	}
	write(t, dir, "kubelet.log", line(30))
	write(t, dir, "kubelet.log.1", line(20))
	write(t, dir, "kubelet.log-20261122", line(10))
	var seen []string
	recs, _ := all(t, open(t, dir))
	for i := range recs {
		if m, ok := recs[i].Event.(*trace.Milestone); ok {
			seen = append(seen, recs[i].Pod.Name+string(m.Name))
		}
	}
	if want := []string{"p10seen", "p20seen", "p30seen"}; !slices.Equal(seen, want) {
		t.Errorf("got %v, want %v", seen, want)
	}
}

const events = `{"kind": "EventList", "apiVersion": "v1", "metadata": {}, "items": [
{"metadata": {"name": "a", "namespace": "shop"}, "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web", "uid": "u1", "fieldPath": "spec.containers{app}"},
 "reason": "BackOff", "message": "Back-off pulling image\u001b[31m", "type": "Warning", "firstTimestamp": "2026-11-23T08:00:05Z", "lastTimestamp": "2026-11-23T08:05:05Z", "count": 9},
{"metadata": {"name": "b", "namespace": "shop"}, "involvedObject": {"kind": "Deployment", "namespace": "shop", "name": "web"}, "reason": "Scaled"}]}
`

const pods = `{"apiVersion": "v1", "items": [
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop", "uid": "u1"}, "spec": {"containers": [{"name": "app", "image": "r/none:1"}]},
 "status": {"phase": "Pending", "startTime": "2026-11-23T08:00:01Z", "containerStatuses": [
  {"name": "app", "image": "r/none:1", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image \"r/none:1\": not found"}}}]}},
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "crash", "namespace": "shop", "uid": "u2"}, "spec": {"containers": [{"name": "app", "image": "i"}]},
 "status": {"phase": "Running", "startTime": "2026-11-23T08:00:01Z", "containerStatuses": [
  {"name": "app", "image": "i", "restartCount": 4, "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 1m20s restarting failed container"}},
   "lastState": {"terminated": {"exitCode": 3, "finishedAt": "2026-11-23T08:04:00Z"}}}]}},
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "fine", "namespace": "shop", "uid": "u3"}, "spec": {"containers": [{"name": "app", "image": "i"}]},
 "status": {"phase": "Running", "startTime": "2026-11-23T08:00:01Z", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-23T08:00:04Z"}],
  "containerStatuses": [{"name": "app", "ready": true, "state": {"running": {"startedAt": "2026-11-23T08:00:03Z"}}}]}}], "kind": "List"}
`

const podYAML = `---
apiVersion: v1
kind: Pod
metadata: {name: yam, namespace: shop, uid: u4}
spec: {containers: [{name: app, image: i}]}
status: {phase: Running, startTime: "2026-11-23T08:00:01Z", containerStatuses: [{name: app, state: {running: {startedAt: "2026-11-23T08:00:03Z"}}}]}
`

// TestDumps reads objects as kubectl writes them, as a tree, as one stream with containers' logs between, in a tar file, and in YAML.
func TestDumps(t *testing.T) {
	tree := t.TempDir()
	write(t, tree, "shop/events.json", events)
	write(t, tree, "shop/pods.json", pods)
	write(t, tree, "shop/web/logs.txt", "==== START logs for container app of pod shop/web ====\nhello\n")
	stream := filepath.Join(t.TempDir(), "dump.txt")
	write(t, filepath.Dir(stream), "dump.txt", events+"==== START logs for container app of pod shop/web ====\n{ no object\nhello\n==== END logs ====\n"+pods)
	archive := filepath.Join(t.TempDir(), "x.tar.gz")
	pack(t, archive, map[string]string{"d/events.json": events, "d/pods.json": pods, "../../etc/pods.json": "x"})
	for name, path := range map[string]string{"tree": tree, "stream": stream, "archive": archive} {
		t.Run(name, func(t *testing.T) {
			s := open(t, path)
			recs, _ := all(t, s)
			if told := s.Told(); told.Events != 1 || told.Pods != 3 || len(told.Notes) != 0 {
				t.Errorf("told %+v", told)
			}
			got := causes(recs)
			if got["web"] != "KL05" || got["crash"] != "KL27" || got["fine"] != "" {
				t.Errorf("causes %v", got)
			}
			for i := range recs {
				if e, ok := recs[i].Event.(*trace.NodeEvent); ok && strings.Contains(e.Message, "\x1b") {
					t.Errorf("%q acts on a terminal", e.Message)
				}
				if recs[i].Observer != trace.ObserverAPIServer || recs[i].Precision.Duration() != time.Second {
					t.Errorf("record %d: seen by %v to %v", i, recs[i].Observer, recs[i].Precision.Duration())
				}
			}
		})
	}
	t.Run("YAML", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, "namespaces/shop/pods/y/pods.yaml", podYAML)
		s := open(t, dir)
		if recs, _ := all(t, s); len(recs) == 0 || s.Told().Pods != 1 {
			t.Errorf("%d records, told %+v", len(recs), s.Told())
		}
	})
}

// causes are what is named of each pod.
func causes(recs []trace.Record) map[string]string {
	s := session.New(session.Options{})
	for i := range recs {
		s.Apply(&recs[i])
	}
	out := map[string]string{}
	for _, l := range s.Runs() {
		for _, f := range cause.Find(s.Case(l, s.Last())) {
			out[l.Pod.Name] += f.ID
		}
	}
	return out
}

func pack(t *testing.T, to string, files map[string]string) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.WriteHeader(&tar.Header{Name: "d/kubelet.log", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), z.Close(), os.WriteFile(to, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// TestLinks: no link is followed out of a tree, and what is no file is not opened.
func TestLinks(t *testing.T) {
	out := t.TempDir()
	write(t, out, "secret/kubelet.log", "I1123 08:00:00.000000 1 a.go:1] \"SyncLoop ADD\" source=\"api\" pods=[\"shop/secret\"]\n")
	dir := t.TempDir()
	write(t, dir, "a/kubelet.log", "I1123 08:00:00.000000 1 a.go:1] \"SyncLoop ADD\" source=\"api\" pods=[\"shop/web\"]\n")
	for link, to := range map[string]string{"b": filepath.Join(out, "secret"), "kubelet2.log": filepath.Join(out, "secret", "kubelet.log"), "loop": "."} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	recs, _ := all(t, open(t, dir))
	for i := range recs {
		if recs[i].Pod.Name == "secret" {
			t.Fatal("a link was followed")
		}
	}
	if _, err := bundle.Open(t.Context(), []string{t.TempDir()}, bundle.Options{}); !errors.Is(err, bundle.ErrNothing) {
		t.Errorf("an empty directory: %v", err)
	}
}

// FuzzObjects: whatever a dump holds, it is read, and what comes out can be encoded.
func FuzzObjects(f *testing.F) {
	f.Add([]byte(events))
	f.Add([]byte(pods))
	f.Add([]byte(podYAML))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := bundle.OpenReader(t.Context(), bytes.NewReader(text), bundle.Options{Zone: time.UTC})
		if err != nil {
			return
		}
		recs, _ := all(t, s)
		for i := range recs {
			if _, err := recs[i].AppendJSON(nil); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestPulledWithEvents reads a log at V2 beside a dump: the Event tells of the pull and of its wait for others, the spec that the container
// that was found running is the last one.
func TestPulledWithEvents(t *testing.T) {
	dir := t.TempDir()
	pleg := func(id string) string {
		return `"SyncLoop (PLEG): event for pod" pod="shop/web" event={"ID":"u1","Type":"ContainerStarted","Data":"` + strings.Repeat(id, 64) + `"}` + "\n"
	}
	write(t, dir, "kubelet.log", `I1122 08:00:01.000000 1 a.go:1] "SyncLoop ADD" source="api" pods=["shop/web"]
I1122 08:00:01.100000 1 a.go:1] "No sandbox for pod can be found. Need to start a new one" pod="shop/web"
I1122 08:00:02.000000 1 a.go:1] `+pleg("a")+`I1122 08:00:12.000000 1 a.go:1] `+pleg("b"))
	write(t, dir, "all.json", `{"kind": "List", "apiVersion": "v1", "items": [
{"kind": "Event", "metadata": {"namespace": "shop"}, "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web", "uid": "u1", "fieldPath": "spec.containers{app}"},
"reason": "Pulled", "message": "Successfully pulled image \"r/i:1\" in 1s (9s including waiting). Image size: 42 bytes.", "lastTimestamp": "2026-11-22T08:00:11Z"},
{"kind": "Pod", "metadata": {"name": "web", "namespace": "shop", "uid": "u1"}, "spec": {"containers": [{"name": "app", "readinessProbe": {"periodSeconds": 3, "exec": {"command": ["x"]}}}]},
"status": {"startTime": "2026-11-22T08:00:01Z"}}]}`)
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(dir, "kubelet.log"), at, at); err != nil {
		t.Fatal(err)
	}
	s, err := bundle.Open(t.Context(), []string{filepath.Join(dir, "kubelet.log"), filepath.Join(dir, "all.json")}, bundle.Options{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	recs, _ := all(t, s)
	var got []string
	for i := range recs {
		r := &recs[i]
		switch e := r.Event.(type) {
		case *trace.Milestone:
			got = append(got, fmt.Sprintf("%s %s %t", r.At().UTC().Format("05"), e.Name, e.Spec != nil))
		case *trace.Wait:
			got = append(got, fmt.Sprintf("%s wait %s %s", r.At().UTC().Format("05"), e.For, r.Dur))
		case *trace.ImagePull:
			got = append(got, fmt.Sprintf("%s pull %s", r.At().UTC().Format("05"), r.Dur))
		}
	}
	want := []string{"01 seen true", "10 wait other-pull 8s", "11 pull 9s", "12 started false"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
