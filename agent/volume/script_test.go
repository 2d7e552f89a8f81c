package volume

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// TestScripts runs testdata/*.txt: "> command" lines, each followed by its results when everything is idle. Operations
// begin on their own and end when a script says so.
//
//	mount POD VOL[=VERSION]...   call Mount; its result is printed when it returns
//	unmount POD                  call Unmount
//	cancel POD                   end the contexts of POD's calls
//	ok VERB POD/VOL              let the operation end
//	fail VERB POD/VOL MESSAGE    let it fail
//	sleep DURATION               pass time
//	stop                         end Run
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runScript(t, f) })
		})
	}
}

func runScript(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := newScript(t)
	var got strings.Builder
	lines := bufio.NewScanner(strings.NewReader(string(data)))
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "  ") {
			continue
		}
		got.WriteString(line + "\n")
		if cmd, ok := strings.CutPrefix(line, "> "); ok {
			s.do(strings.Fields(cmd))
			synctest.Wait()
			for _, l := range s.news() {
				got.WriteString("  " + l + "\n")
			}
		}
	}
	s.stop()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(data), got.String()); diff != "" {
		t.Errorf("%s (-want +got; UPDATE=1 rewrites):\n%s", path, diff)
	}
}

type script struct {
	t       *testing.T
	m       *Manager
	rec     *tracetest.Recorder
	seen    int
	plugin  *fakePlugin
	results chan string
	cancel  map[string][]context.CancelFunc
	stop    func()
}

func newScript(t *testing.T) *script {
	s := &script{
		t: t, rec: tracetest.New(t), plugin: &fakePlugin{ops: map[string]chan error{}},
		results: make(chan string, 100), cancel: map[string][]context.CancelFunc{},
	}
	m, err := New(Config{RootDir: t.TempDir(), Plugins: []Plugin{s.plugin}, Bus: s.rec.Bus(), Concurrency: 2})
	if err != nil {
		t.Fatal(err)
	}
	s.m = m
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- m.Run(ctx); close(done) }()
	s.stop = func() {
		cancel()
		s.plugin.releaseAll()
		if err := <-done; err != nil {
			t.Error(err)
		}
		synctest.Wait()
	}
	return s
}

func (s *script) do(f []string) {
	switch f[0] {
	case "mount":
		s.call("mount", f[1], func(ctx context.Context) error {
			got, err := s.m.Mount(ctx, fakePod(f[1], f[2:]))
			if err == nil && len(got) != len(f)-2 {
				s.t.Errorf("mounted %v, want %v", got, f[2:])
			}
			return err
		})
	case "unmount":
		s.call("unmount", f[1], func(ctx context.Context) error { return s.m.Unmount(ctx, trace.Pod{UID: f[1]}) })
	case "cancel":
		for _, c := range s.cancel[f[1]] {
			c()
		}
	case "ok":
		s.plugin.finish(s.t, f[1]+" "+f[2], nil)
	case "fail":
		s.plugin.finish(s.t, f[1]+" "+f[2], errors.New(strings.Join(f[3:], " ")))
	case "sleep":
		d, err := time.ParseDuration(f[1])
		if err != nil {
			s.t.Fatal(err)
		}
		time.Sleep(d)
	case "stop":
		s.stop()
	default:
		s.t.Fatalf("unknown command %q", f)
	}
}

func (s *script) call(what, uid string, f func(context.Context) error) {
	ctx, cancel := context.WithCancel(s.t.Context())
	s.cancel[uid] = append(s.cancel[uid], cancel)
	go func() {
		defer cancel()
		s.results <- strings.TrimSpace(strings.ReplaceAll(fmt.Sprintf("%s %s: %v", what, uid, f(ctx)), "<nil>", "done"))
	}()
}

// news returns what happened since the last call, in a stable order.
func (s *script) news() []string {
	var out []string
	recs := s.rec.Records()
	for _, r := range recs[s.seen:] {
		switch e := r.Event.(type) {
		case *trace.Volume:
			if r.Edge == trace.EdgeBegin || e.Err != "" {
				out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s/%s %s", r.Edge, e.Op, r.Pod.UID, e.Name, e.Err)))
			}
		case *trace.Wait:
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s wait %s on %s (%s)", r.Edge, e.For, say.On(e), say.Detail(e, r.Start()))))
		}
	}
	s.seen = len(recs)
	for len(s.results) > 0 {
		out = append(out, <-s.results)
	}
	slices.Sort(out)
	return out
}

func fakePod(uid string, volumes []string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: uid, UID: types.UID(uid)}}
	p.Spec.Containers = []v1.Container{{Name: "c"}}
	for _, v := range volumes {
		name, version, _ := strings.Cut(v, "=")
		src := &v1.EmptyDirVolumeSource{Medium: v1.StorageMedium(version)}
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: name, VolumeSource: v1.VolumeSource{EmptyDir: src}})
		p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: name, MountPath: "/" + name})
	}
	return p
}
