package stats

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// A driver is asked once in a period, and nobody waits for one that hangs: its last answer is used.
func TestAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := answers{period: time.Minute}
		var asked atomic.Int64
		fails, hangs := false, make(chan struct{})
		close(hangs)
		ask := func(context.Context) (statsapi.FsStats, bool) {
			n := uint64(asked.Add(1))
			<-hangs
			return statsapi.FsStats{UsedBytes: &n}, !fails
		}
		want := func(what string, used uint64, known bool, calls int64) {
			t.Helper()
			got, ok := a.of(t.Context(), "/v", ask)
			if ok != known || ok && (*got.UsedBytes != used || got.Time.IsZero()) || asked.Load() != calls {
				t.Errorf("%s: %+v, %t, %d calls", what, got, ok, asked.Load())
			}
		}
		want("new", 1, true, 1)
		time.Sleep(time.Minute - time.Second)
		want("within the period", 1, true, 1)
		time.Sleep(time.Second)
		hangs = make(chan struct{})
		began := time.Now()
		want("it hangs", 1, true, 2)
		for range 1000 {
			want("it still hangs", 1, true, 2)
		}
		if d := time.Since(began); d > patience {
			t.Errorf("waited %s", d)
		}
		close(hangs)
		synctest.Wait()
		want("it has answered", 2, true, 2)
		time.Sleep(time.Minute)
		fails = true
		want("it fails", 0, false, 3)
		want("within the period", 0, false, 3)
		time.Sleep(11 * time.Minute)
		if _, ok := a.of(t.Context(), "/other", ask); ok || len(a.known) != 1 {
			t.Errorf("%v", a.known)
		}
		a.period = 0
		want("not to be asked", 0, false, 4)
	})
}

// The volumes of one response wait together for their drivers.
func TestAnswersWaitTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, hung, began := answers{period: time.Minute}, make(chan struct{}), time.Now()
		until, cancel := context.WithTimeout(t.Context(), walksWait)
		defer cancel()
		for _, path := range []string{"/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8", "/9"} {
			if _, ok := a.of(until, path, func(context.Context) (statsapi.FsStats, bool) { <-hung; return statsapi.FsStats{}, true }); ok {
				t.Errorf("%s is known", path)
			}
		}
		if d := time.Since(began); d != walksWait {
			t.Errorf("waited %s", d)
		}
		close(hung)
	})
}
