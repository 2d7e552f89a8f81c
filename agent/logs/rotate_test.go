package logs

import (
	"context"
	"maps"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// hungReopener does not respond about one container.
type hungReopener struct {
	mu    sync.Mutex
	calls map[string]int // by container
}

func (h *hungReopener) ReopenContainerLog(ctx context.Context, r *runtimeapi.ReopenContainerLogRequest, _ ...grpc.CallOption) (*runtimeapi.ReopenContainerLogResponse, error) {
	h.mu.Lock()
	h.calls[r.ContainerId]++
	h.mu.Unlock()
	if r.ContainerId == "hung" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &runtimeapi.ReopenContainerLogResponse{}, nil
}

func (h *hungReopener) called() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.calls)
}

// If a container's log cannot be reopened, other logs are delayed for a bounded time, and checked again. It is tried once. The first check
// is at once.
func TestHungRotation(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		ids   []string
		first map[string]int
	}{
		{[]string{"hung", "web"}, map[string]int{"hung": 1}}, // web waits for its turn
		{[]string{"web", "hung"}, map[string]int{"hung": 1, "web": 1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := &hungReopener{calls: map[string]int{}}
			r, err := NewRotator(RotatorConfig{
				MaxSize: 4, MaxFiles: 3, Workers: 1, Interval: time.Minute, Runtime: h,
				Containers: func() (missing []Container) {
					for _, id := range c.ids {
						missing = append(missing, Container{ID: id, Path: filepath.Join(dir, id+".log")})
					}
					return missing
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			done := make(chan error)
			go func() { done <- r.Run(ctx) }()
			for _, step := range []struct {
				after time.Duration
				want  map[string]int
			}{
				{0, c.first},
				{30 * time.Second, map[string]int{"hung": 1, "web": 1}},
				{9 * time.Minute, map[string]int{"hung": 1, "web": 10}},
			} {
				time.Sleep(step.after)
				synctest.Wait()
				got := h.called()
				if !maps.Equal(got, step.want) {
					t.Errorf("%v: after %s more: %v, want %v", c.ids, step.after, got, step.want)
				}
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}
