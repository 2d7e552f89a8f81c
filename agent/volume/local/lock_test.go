package local

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/mount-utils"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// slowMounter takes a second for each call, and counts those that run at the same time.
type slowMounter struct {
	*mount.FakeMounter
	mu               sync.Mutex
	calls, now, most int
}

func (m *slowMounter) work() {
	m.mu.Lock()
	m.calls++
	m.now++
	m.most = max(m.most, m.now)
	m.mu.Unlock()
	time.Sleep(time.Second)
	m.mu.Lock()
	m.now--
	m.mu.Unlock()
}

func (m *slowMounter) MountSensitiveWithoutSystemd(source, target, fstype string, options, sensitive []string) error {
	m.work()
	return m.FakeMounter.MountSensitiveWithoutSystemd(source, target, fstype, options, sensitive)
}

func (m *slowMounter) Unmount(target string) error {
	m.work()
	return m.FakeMounter.Unmount(target)
}

// Pods that share a persistent volume wait for each other, other pods do not.
func TestOnePodAtATime(t *testing.T) {
	for name, c := range map[string]struct {
		pvs, most int
		block     bool
	}{
		"the same volume":       {1, 1, false},
		"other volumes":         {2, 2, false},
		"the same block volume": {1, 1, true},
		"other block volumes":   {2, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			root, data := t.TempDir(), t.TempDir()
			if c.block {
				data = filepath.Join(data, "disk") // replaces a device
				if err := os.WriteFile(data, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Test(t, func(t *testing.T) { atOnce(t, root, data, c.pvs, c.most, c.block) })
		})
	}
}

func atOnce(t *testing.T, root, data string, pvs, most int, block bool) {
	m := &slowMounter{FakeMounter: mount.NewFakeMounter(nil)}
	p, err := New(Config{RootDir: root, Mounter: m})
	if err != nil {
		t.Fatal(err)
	}
	spec := func(uid, pv string) volume.Spec {
		return volume.Spec{
			Pod: &v1.Pod{}, Block: block, Place: volume.Place{Dir: filepath.Join(root, "pods", uid, pv), PodUID: types.UID(uid), Name: pv},
			PV: &v1.PersistentVolume{
				ObjectMeta: metav1.ObjectMeta{Name: pv},
				Spec:       v1.PersistentVolumeSpec{PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: data}}},
			},
		}
	}
	set := p.SetUp
	if block {
		set = p.SetUpBlock
	}
	a, b, c := spec("a", "pv0"), spec("b", "pv0"), spec("c", []string{"pv0", "pv1"}[pvs-1])
	if _, err := set(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, s := range []volume.Spec{b, c} {
		all.Go(func() {
			if _, err := set(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
	}
	all.Go(func() {
		down := p.TearDown
		if block {
			down = p.TearDownBlock
		}
		if err := down(t.Context(), a.Place); err != nil {
			t.Error(err)
		}
	})
	all.Wait()
	if m.most != most || m.calls < 3 {
		t.Errorf("%d calls, %d at the same time, want %d", m.calls, m.most, most)
	}
}
