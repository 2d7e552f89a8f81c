package volume

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// waiter waits until all of a pod's volumes are mounted, or all are removed.
type waiter struct {
	m      *Manager
	pod    *pod
	target verb
	span   trace.Span
	// since is the number of finished attempts when the wait began.
	since  uint64
	result map[string]criconfig.Volume
	// missing says that the content of a volume in result is not on the node.
	missing bool
}

// waiter returns a new wait. Called with mu.
func (m *Manager) waiter(p *pod, target verb) *waiter {
	return &waiter{m: m, pod: p, target: target, span: p.span, since: m.attempts}
}

// outcome is the current state of a wait.
type outcome struct {
	done bool
	err  error
	// pending are the unfinished volumes, for an error.
	pending []string
	// wait is the reason why no operation runs; zero while one does.
	wait trace.Wait
}

func (w *waiter) await(ctx context.Context) error {
	var wait trace.Wait
	var span trace.Span
	end := func() {
		if wait.For != "" {
			trace.End(w.m.cfg.Bus, span, wait)
		}
	}
	defer func() { end() }()
	for {
		w.m.mu.Lock()
		out := w.look(time.Now())
		changed := w.pod.changed
		w.m.mu.Unlock()
		if out.done {
			return out.err
		}
		if !reflect.DeepEqual(out.wait, wait) {
			end()
			if wait = out.wait; wait.For != "" {
				span = trace.Begin(w.m.cfg.Bus, w.span, wait)
			}
		}
		select {
		case <-changed:
		case <-w.m.stopped:
			return ErrStopped
		case <-ctx.Done():
			return and(fmt.Errorf("%s of volumes not done: %s: %w", w.target, strings.Join(out.pending, ", "), context.Cause(ctx)), out.err)
		}
	}
}

// look returns the state of the wait. Called with mu.
func (w *waiter) look(now time.Time) outcome {
	switch {
	case w.target == setUp && w.pod.released:
		return outcome{done: true, err: ErrReleased}
	case w.target == tearDown && w.pod.gone:
		return outcome{done: true}
	case w.target == tearDown && !w.pod.released:
		return outcome{done: true, err: ErrWanted}
	}
	var out outcome
	working := false
	confirmed := w.m.confirmed()
	for _, k := range w.keys() {
		s := w.m.states[k]
		if w.target == setUp && s.satisfies(w.pod.wanted[k]) {
			continue
		}
		if s != nil && s.failed[w.target] > w.since {
			if w.target == tearDown || !isMissing(s.err) {
				out.err = and(out.err, s.err)
			}
			continue
		}
		out.pending = append(out.pending, k.name)
		wait := s.waits(k, w.target, now)
		if want := w.pod.wanted[k]; w.target == setUp && want != nil && (s == nil || !s.busy && !s.found) && !want.inUse(confirmed) {
			wait = trace.Wait{For: trace.WaitAttach, Target: k.target(), Note: "the node's status has to say that it is in use"}
		}
		if want := w.pod.wanted[k]; w.target == setUp && want != nil && s == nil {
			if h := holdOf(w.m.pods, w.m.states, w.m.left, k, want); h != nil {
				wait = h.wait()
			}
		}
		working = working || wait.For == ""
		out.wait = wait
	}
	if working {
		out.wait = trace.Wait{}
	}
	out.done = len(out.pending) == 0
	if out.done && out.err == nil && w.target == setUp {
		w.collect()
	}
	return out
}

// collect sets the result of a wait for mounts. Called with mu.
func (w *waiter) collect() {
	w.result, w.missing = map[string]criconfig.Volume{}, false
	for k, want := range w.pod.wanted {
		s := w.m.states[k]
		v := s.result
		if !s.satisfies(want) && isMissing(s.err) {
			v, w.missing = criconfig.Volume{Missing: s.err}, true
		}
		v.Name = k.name
		for _, name := range want.names {
			w.result[name] = v
		}
	}
}

// and joins errors in one line, because they become a pod's status.
func and(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return fmt.Errorf("%w; %w", a, b)
}

// keys returns the volumes of the wait, sorted.
func (w *waiter) keys() []key {
	var keys []key
	if w.target == setUp {
		keys = slices.Collect(maps.Keys(w.pod.wanted))
	} else {
		for k := range w.m.states {
			if k.uid == types.UID(w.pod.ref.UID) {
				keys = append(keys, k)
			}
		}
	}
	sorting.Stable(keys, func(a, b *key) int {
		return cmp.Or(strings.Compare(a.name+a.plugin, b.name+b.plugin), btoi(a.block)-btoi(b.block))
	})
	return keys
}

// waits returns why no operation runs on a volume; zero if one does or is about to.
func (s *state) waits(k key, target verb, now time.Time) trace.Wait {
	switch {
	case s == nil:
	case s.busy && s.doing != target:
		return trace.Wait{For: trace.WaitLock, Target: k.target(), Doing: s.doing.String()}
	case !s.busy && s.retryAt.After(now):
		return trace.Wait{For: trace.WaitBackoff, Target: k.target(), Until: s.retryAt.UnixNano()}.WithCause(s.err.Error())
	}
	return trace.Wait{}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
