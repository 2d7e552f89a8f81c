package volume

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

// fakePlugin creates real directories. Its operations end when a test says so. It fails the test if one volume has two
// operations at once.
type fakePlugin struct {
	mu       sync.Mutex
	ops      map[string]chan error
	released bool
}

func (*fakePlugin) Name() string                   { return "test/fake" }
func (*fakePlugin) CanSupport(v *v1.Volume) bool   { return v.EmptyDir != nil }
func (*fakePlugin) Version(s Spec) (string, error) { return string(s.Volume.EmptyDir.Medium), nil }

func (f *fakePlugin) SetUp(_ context.Context, s Spec) (criconfig.Volume, error) {
	if err := f.wait(setUp, s.Place); err != nil {
		return criconfig.Volume{}, err
	}
	return criconfig.Volume{HostPath: s.Dir}, os.MkdirAll(s.Dir, 0o750)
}

func (f *fakePlugin) TearDown(_ context.Context, p Place) error {
	if err := f.wait(tearDown, p); err != nil {
		return err
	}
	return os.RemoveAll(p.Dir)
}

func (f *fakePlugin) wait(v verb, p Place) error {
	uid := filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(p.Dir))))
	name := v.String() + " " + uid + "/" + filepath.Base(p.Dir)
	ch := make(chan error, 1)
	f.mu.Lock()
	if f.ops[name] != nil {
		panic("two at once: " + name)
	}
	f.ops[name] = ch
	if f.released {
		ch <- nil
	}
	f.mu.Unlock()
	err := <-ch
	f.mu.Lock()
	delete(f.ops, name)
	f.mu.Unlock()
	return err
}

func (f *fakePlugin) finish(t *testing.T, name string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := f.ops[name]
	if ch == nil {
		t.Fatalf("no %s is under way", name)
	}
	ch <- err
}

// releaseAll lets everything end.
func (f *fakePlugin) releaseAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.released = true
	for _, ch := range f.ops {
		select {
		case ch <- nil:
		default:
		}
	}
}
