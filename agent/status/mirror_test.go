package status

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// lateAPI gives its answer to a patch when the test says so. The patch has had its effect by then.
type lateAPI struct {
	*fakeAPI
	answer chan struct{}
}

func (l lateAPI) Pods(string) kubeapi.Pods { return l }

func (l lateAPI) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*v1.Pod, error) {
	p, err := l.fakeAPI.Patch(ctx, name, kind, data, o, sub...)
	<-l.answer
	return p, err
}

// safeMirrors are the mirror pods, by the static pod's UID.
type safeMirrors struct {
	mu    sync.Mutex
	known mirrors
}

func (m *safeMirrors) Mirror(uid types.UID) *v1.Pod {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known[uid]
}

func (m *safeMirrors) set(uid types.UID, p *v1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[uid] = p
}

// A mirror pod is replaced while its status is written. The next one gets the status, whatever the late answer says.
func TestMirrorReplacedDuringAPatch(t *testing.T) {
	for _, c := range []struct {
		name string
		// gone says that the old mirror is gone before the patch, otherwise only before its answer; told that the next one is observed before
		// the answer, otherwise it is only known.
		gone, told bool
	}{{"answered late", false, true}, {"refused late", true, true}, {"refused, and not observed yet", true, false}} {
		t.Run(c.name, func(t *testing.T) {
			known := &safeMirrors{known: mirrors{}}
			answer := make(chan struct{})
			running(t, func(cfg *Config) {
				answer = make(chan struct{})
				api, _ := cfg.Client.(*fakeAPI)
				cfg.Mirrors, cfg.Client = known, lateAPI{api, answer}
			}, func(b *bench) {
				ctx := b.t.Context()
				static := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
					Namespace: "shop", Name: "a", UID: "hash", Annotations: map[string]string{podspec.AnnotationSource: podspec.SourceFile},
				}}
				known.set("hash", b.pod("a"))
				replace := func() *v1.Pod { return b.pod("a", func(p *v1.Pod) { p.UID = "next" }) }
				if c.gone {
					next := replace()
					b.Set(ctx, static, run())
					synctest.Wait() // the patch to the old one is refused, and not answered yet
					known.set("hash", next)
				} else {
					b.Set(ctx, static, run())
					synctest.Wait()
					known.set("hash", replace())
				}
				if c.told {
					b.Observe(ctx, "hash", b.now("a"))
				}
				expect(t, "before the answer", b.calls(), "patch a")
				answer <- struct{}{}
				expect(t, "after the answer", b.calls(), "patch a")
				if b.Written("hash") {
					t.Error("written before the next one has it")
				}
				answer <- struct{}{}
				expect(t, "when the next one has it", b.calls())
				if got := b.now("a"); got.UID != "next" || got.Status.Phase != v1.PodRunning || !b.Written("hash") {
					t.Errorf("%s has phase %s; written: %t", got.UID, got.Status.Phase, b.Written("hash"))
				}
				b.Observe(ctx, "hash", b.now("a"))
				expect(t, "own write observed", b.calls())
			})
		})
	}
}
