package logs

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
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

// lateReopener opens a new log, and its answer is lost.
type lateReopener struct{ path string }

func (r lateReopener) ReopenContainerLog(context.Context, *runtimeapi.ReopenContainerLogRequest, ...grpc.CallOption) (*runtimeapi.ReopenContainerLogResponse, error) {
	if err := os.WriteFile(r.path, []byte("new"), 0o640); err != nil {
		return nil, err
	}
	return nil, context.Canceled
}

// A log that the runtime has opened is not replaced by the old one, although its answer was lost: the container writes to the new one.
func TestLostAnswerOfReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.log")
	r, err := NewRotator(RotatorConfig{
		MaxSize: 4, MaxFiles: 3, Workers: 1, Interval: time.Minute, Runtime: lateReopener{path},
		Containers: func() []Container { return []Container{{ID: "c", Path: path}} },
	})
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, "older")
	r.pass(t.Context())
	r.work.Wait()
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for i, want := range []string{"new", "older"} {
		if text, err := os.ReadFile(files[i]); err != nil || string(text) != want {
			t.Errorf("%s has %q, %v, want %q", files[i], text, err, want)
		}
	}
}

// promptReopener always succeeds.
type promptReopener struct{}

func (promptReopener) ReopenContainerLog(context.Context, *runtimeapi.ReopenContainerLogRequest, ...grpc.CallOption) (*runtimeapi.ReopenContainerLogResponse, error) {
	return &runtimeapi.ReopenContainerLogResponse{}, nil
}

// Logs that are removed while they are rotated, because their pod is gone, need no rotation: that is no error.
func TestRemovedWhileRotated(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	path := filepath.Join(dir, "0.log")
	c := Container{ID: "c", Path: path}
	r, err := NewRotator(RotatorConfig{
		MaxSize: 4, MaxFiles: 3, Workers: 1, Interval: time.Minute, Runtime: promptReopener{}, Containers: func() []Container { return []Container{c} },
	})
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var writer sync.WaitGroup
	writer.Go(func() {
		for !stop.Load() {
			_ = os.Mkdir(dir, 0o700)
			for _, suffix := range []string{".20260101-000000", ".20260102-000000", ".20260103-000000.tmp", ""} {
				_ = os.WriteFile(path+suffix, []byte("older"), 0o600)
			}
			_ = os.RemoveAll(dir)
		}
	})
	defer writer.Wait()
	defer stop.Store(true)
	for range 2000 {
		if err := r.rotate(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
}
