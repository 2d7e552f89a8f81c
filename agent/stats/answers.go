package stats

import (
	"context"
	"maps"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// answers are what drivers said about their volumes, by the volumes' paths. A driver is another program, which may take any time.
type answers struct {
	// period is how long an answer is valid; drivers are not asked if it is not positive.
	period time.Duration
	calls  probes[answer]

	mu    sync.Mutex
	known map[string]answer
}

type answer struct {
	fs statsapi.FsStats
	ok bool // false if the driver has no figures of the volume
	at time.Time
}

// of returns the figures of the volume at path. While the driver is asked again, they are its last ones.
func (a *answers) of(ctx context.Context, path string, ask func(context.Context) (statsapi.FsStats, bool)) (statsapi.FsStats, bool) {
	if a.period <= 0 {
		return statsapi.FsStats{}, false
	}
	a.mu.Lock()
	last := a.known[path]
	a.mu.Unlock()
	if !last.at.IsZero() && time.Since(last.at) < a.period {
		return last.fs, last.ok
	}
	if got, ok := a.calls.askUntil(ctx, path, func() answer { return a.keep(path, ask) }); ok {
		last = got
	}
	return last.fs, last.ok
}

// keep asks the driver, and keeps the answer. It removes those of volumes about which nobody asks any more.
func (a *answers) keep(path string, ask func(context.Context) (statsapi.FsStats, bool)) answer {
	fs, ok := ask(context.Background())
	now := time.Now()
	fs.Time = metav1.NewTime(now)
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.known, func(_ string, of answer) bool { return now.Sub(of.at) > 10*a.period })
	if a.known == nil {
		a.known = map[string]answer{}
	}
	a.known[path] = answer{fs, ok, now}
	return a.known[path]
}
