package volume

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Setups that hang delay another pod's volumes for a bounded time.
func TestHungOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &fakePlugin{ops: map[string]chan error{}}
		m := running(t, Config{Plugins: []Plugin{p}, Concurrency: 2})
		done := make(chan error, 10)
		mount := func(uid string) {
			go func() { _, err := m.Mount(t.Context(), fakePod(uid, []string{"a"})); done <- err }()
			synctest.Wait()
		}
		under := func() int {
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.ops)
		}
		for i := range 4 {
			mount(fmt.Sprint("hung", i))
		}
		mount("web")
		if n := under(); n != 2 {
			t.Errorf("%d operations at once, want 2", n)
		}
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if n := under(); n != 5 {
			t.Errorf("%d operations are under way, want all five", n)
		}
		p.finish(t, "setup web/a", nil)
		if err := <-done; err != nil {
			t.Error(err)
		}
		p.releaseAll()
		for range 4 {
			<-done
		}
	})
}
