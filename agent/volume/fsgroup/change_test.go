package fsgroup

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

type told struct {
	events.Publisher
	messages []string
}

func (e *told) Pod(_ context.Context, _ *v1.Pod, _, _, reason, message string) {
	e.messages = append(e.messages, reason+": "+message)
}

func TestPeopleAreToldOfBigTrees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, events := tracetest.New(t), &told{}
		c := Change{Dir: "/k/pods/u1/volumes/x/pv", Pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u1"}}, Bus: rec.Bus(), Events: events}
		var files atomic.Int64
		stop, done := make(chan struct{}), make(chan struct{})
		go func() { c.watch(t.Context(), &files, stop); close(done) }()
		time.Sleep(500 * time.Millisecond)
		for range 100 {
			time.Sleep(time.Second)
			files.Add(10)
		}
		close(stop)
		<-done
		if len(events.messages) != 2 || !strings.HasPrefix(events.messages[0], "VolumePermissionChangeInProgress: Setting volume ownership for u1/volumes/x/pv is taking longer than expected, consider using OnRootMismatch") ||
			!strings.HasPrefix(events.messages[1], "VolumePermissionChangeInProgress: Setting volume ownership for u1/volumes/x/pv, processed ") {
			t.Errorf("%q", events.messages)
		}
		recs := rec.OfKind("volume.progress")
		last, ok := recs[len(recs)-1].Event.(*trace.VolumeProgress)
		if !ok || !last.Done || last.Op != trace.VolumeFSGroup || last.Files != 1000 || len(recs) != 101 {
			t.Errorf("%d records, the last is %+v", len(recs), last)
		}
	})
}

func TestChangePolicy(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	outside := filepath.Join(t.TempDir(), "outside")
	for _, err := range []error{
		os.MkdirAll(deep, 0o755), os.WriteFile(deep+"/file", nil, 0o600),
		os.WriteFile(outside, nil, 0o600), os.Symlink(outside, dir+"/link"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	gid := func(path string) uint32 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Sys().(*syscall.Stat_t).Gid
	}
	pod := func(group int64, policy v1.PodFSGroupChangePolicy) *v1.Pod {
		return &v1.Pod{Spec: v1.PodSpec{SecurityContext: &v1.PodSecurityContext{FSGroup: &group, FSGroupChangePolicy: &policy}}}
	}
	apply := func(p *v1.Pod) {
		t.Helper()
		if err := (Change{Dir: dir, Pod: p}).Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	apply(pod(4321, v1.FSGroupChangeAlways))
	if gid(deep+"/file") != 4321 || gid(dir) != 4321 || gid(outside) == 4321 {
		t.Errorf("groups %d %d, outside %d", gid(deep+"/file"), gid(dir), gid(outside))
	}
	// The root is correct: its content is not checked.
	if err := os.Chown(deep+"/file", 0, 0); err != nil {
		t.Fatal(err)
	}
	apply(pod(4321, v1.FSGroupChangeOnRootMismatch))
	if gid(deep+"/file") != 0 {
		t.Error("OnRootMismatch changed files below a root that is right")
	}
	apply(pod(1234, v1.FSGroupChangeOnRootMismatch))
	if gid(deep+"/file") != 1234 || gid(dir) != 1234 {
		t.Errorf("groups %d %d", gid(deep+"/file"), gid(dir))
	}
}
