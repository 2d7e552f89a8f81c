package volume

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// inUseNode is the status of the node in the API, as agent/node writes it for a Manager.
type inUseNode struct {
	*Manager
	plugin  *attachPlugin
	changed atomic.Int64
	mounted chan error
}

func newInUseNode(t *testing.T) *inUseNode {
	t.Helper()
	n := &inUseNode{plugin: &attachPlugin{}, mounted: make(chan error, 1)}
	n.Manager = running(t, Config{Plugins: []Plugin{n.plugin}, Claims: &oneClaim{pv: testPV()}, InUseChanged: func() { n.changed.Add(1) }})
	n.MarkInUse(nil)
	return n
}

// wants mounts a pod's volume in the background. It returns when nothing happens any more.
func (n *inUseNode) wants(t *testing.T, uid string) {
	t.Helper()
	go func() {
		_, err := n.Mount(t.Context(), claimPod(uid, "data"))
		n.mounted <- err
	}()
	synctest.Wait()
}

// reused is a node whose volume left the pod a, was then omitted from the status that is being written, and is then wanted by the pod b.
func reused(t *testing.T) *inUseNode {
	t.Helper()
	n := newInUseNode(t)
	n.wants(t, "a")
	n.MarkInUse(n.InUse())
	if err := <-n.mounted; err != nil {
		t.Fatal(err)
	}
	if err := n.Unmount(t.Context(), trace.Pod{UID: "a"}); err != nil {
		t.Fatal(err)
	}
	if in := n.InUse(); len(in) != 0 {
		t.Fatalf("in use: %v", in)
	}
	n.changed.Store(0)
	n.wants(t, "b")
	return n
}

func (n *inUseNode) want(t *testing.T, when string, setUps int, changed int64) {
	t.Helper()
	synctest.Wait()
	if got := n.plugin.count(); got != setUps || n.changed.Load() != changed {
		t.Errorf("%s: %d set-ups and %d notices, want %d and %d", when, got, n.changed.Load(), setUps, changed)
	}
}

// A controller may detach a volume that the next status omits, although the newest one still lists it.
func TestReusedVolumeIsReportedInUseAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := reused(t)
		n.want(t, "while the status without it is written", 1, 1)
		n.MarkInUse([]v1.UniqueVolumeName{"test/pv"}) // somebody changed the node meanwhile
		n.want(t, "another object of before", 1, 1)
		n.MarkInUse(nil)
		n.want(t, "the status without it is there", 1, 2)
		n.MarkInUse(n.InUse())
		if err := <-n.mounted; err != nil {
			t.Error(err)
		}
		n.want(t, "the status lists it again", 2, 2)
	})
}

// If the status without the volume is never written, the next one changes nothing, and no object comes.
func TestReusedVolumeStaysReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := reused(t)
		n.want(t, "while the status without it is written", 1, 1)
		n.InUse()
		time.Sleep(time.Second)
		n.want(t, "the next status has it", 2, 1)
		if err := <-n.mounted; err != nil {
			t.Error(err)
		}
	})
}

// A failed mount does not hide that somebody else removed the volume from the status.
func TestVolumeInUseIsRemovedFromTheStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newInUseNode(t)
		n.plugin.failing(errors.New("no"))
		n.wants(t, "a")
		in := n.InUse()
		n.MarkInUse(in)
		<-n.mounted
		n.MarkInUse(nil)
		n.plugin.failing(nil)
		time.Sleep(time.Minute)
		n.want(t, "the status does not list it", 1, 2)
		if !slices.Equal(n.InUse(), in) {
			t.Errorf("in use: %v", n.InUse())
		}
		n.MarkInUse(in)
		n.want(t, "the status lists it again", 2, 2)
	})
}
