package volume

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

// contentPlugin has volumes whose content comes from elsewhere; why is the reason why that of volume "tools" is missing.
type contentPlugin struct {
	mu    sync.Mutex
	why   error
	tries int
}

func (*contentPlugin) Name() string                          { return "test/content" }
func (*contentPlugin) CanSupport(*v1.Volume) bool            { return true }
func (*contentPlugin) Version(Spec) (string, error)          { return "", nil }
func (*contentPlugin) TearDown(context.Context, Place) error { return nil }
func (p *contentPlugin) SetUp(_ context.Context, s Spec) (criconfig.Volume, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.Volume.Name != "tools" {
		return criconfig.Volume{HostPath: "/there"}, nil
	}
	p.tries++
	return criconfig.Volume{HostPath: "/tools"}, p.why
}

func (p *contentPlugin) set(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.why = why
}

// Missing content is part of a mount's result. A further mount tries at once: the back-off is the plugin's. When all content is
// there, the pod is synced again.
func TestMissingContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("no such image")
		p, said := &contentPlugin{why: &MissingError{Err: refused}}, &toldEvents{}
		var settled []types.UID
		m := running(t, Config{Plugins: []Plugin{p}, Events: said, Settled: func(uid types.UID) { settled = append(settled, uid) }})
		pod := fakePod("u", []string{"tools", "data"})
		for tries := range 3 {
			start := time.Now()
			got, err := m.Mount(t.Context(), pod)
			if err != nil || !errors.Is(got["tools"].Missing, refused) || got["data"].HostPath != "/there" || got["data"].Missing != nil {
				t.Errorf("%v, %v", got, err)
			}
			if took := time.Since(start); took > 0 || p.tries != tries+1 {
				t.Errorf("%d attempts after %s, want %d at once", p.tries, took, tries+1)
			}
			if m.Ready(pod) {
				t.Error("the volumes are ready")
			}
		}
		p.set(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if !slices.Equal(settled, []types.UID{"u"}) || !m.Ready(pod) {
			t.Errorf("settled %v, ready %t", settled, m.Ready(pod))
		}
		if got, err := m.Mount(t.Context(), pod); err != nil || got["tools"].HostPath != "/tools" || got["tools"].Missing != nil {
			t.Errorf("%v, %v", got, err)
		}
		if all := said.take(); len(all) > 0 {
			t.Errorf("events %q, want none besides the plugin's", all)
		}
	})
}
