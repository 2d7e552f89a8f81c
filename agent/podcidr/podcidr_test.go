package podcidr

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// fake records what it was told, and fails with err.
type fake struct {
	mu   sync.Mutex
	told []string
	err  error
}

func (f *fake) UpdateRuntimeConfig(
	_ context.Context, r *runtimeapi.UpdateRuntimeConfigRequest, _ ...grpc.CallOption,
) (*runtimeapi.UpdateRuntimeConfigResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, r.GetRuntimeConfig().GetNetworkConfig().GetPodCidr())
	return &runtimeapi.UpdateRuntimeConfigResponse{}, f.err
}

func (f *fake) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fake) calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.told
	f.told = nil
	return out
}

func TestSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, rec, sent := &fake{}, tracetest.New(t), 0
		s, err := New(Config{Runtime: rt, Bus: rec.Bus(), Sent: func() { sent++ }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		want := func(when string, calls ...string) {
			t.Helper()
			synctest.Wait()
			if got := rt.calls(); !slices.Equal(got, calls) {
				t.Errorf("%s: the runtime is told %q, want %q", when, got, calls)
			}
		}
		want("no addresses are known")
		s.Set(nil)
		want("the object has none")
		s.Set([]string{"10.1.0.0/24", "fd00::/64"})
		want("the object has them", "10.1.0.0/24,fd00::/64")
		s.Set([]string{"10.1.0.0/24", "fd00::/64"})
		s.Set(nil)
		time.Sleep(time.Hour) //nolint:forbidigo // the bubble's
		want("nothing is new")

		rt.fail(errors.New("no"))
		s.Set([]string{"10.2.0.0/24"})
		want("the runtime refuses", "10.2.0.0/24")
		time.Sleep(2*retry + time.Second) //nolint:forbidigo // the bubble's
		want("it refuses", "10.2.0.0/24", "10.2.0.0/24")
		rt.fail(nil)
		time.Sleep(retry) //nolint:forbidigo // the bubble's
		want("it takes them", "10.2.0.0/24")
		if logs := tracetest.Events[trace.Log](rec); len(logs) != 1 || sent != 2 {
			t.Errorf("logs %v, taken %d times", logs, sent)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestConfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := &fake{}
		s, err := New(Config{Runtime: rt, Configured: "10.9.0.0/24"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		s.Set([]string{"10.1.0.0/24"})
		synctest.Wait()
		if got := rt.calls(); !slices.Equal(got, []string{"10.9.0.0/24", "10.1.0.0/24"}) {
			t.Errorf("told %q", got)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
