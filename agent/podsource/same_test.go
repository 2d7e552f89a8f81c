package podsource

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/events"
)

// saidEvents keeps Events.
type saidEvents struct {
	events.Publisher
	mu  sync.Mutex
	all []string
}

func (e *saidEvents) Pod(_ context.Context, p *v1.Pod, _, kind, reason, message string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, string(p.UID)+" "+kind+" "+reason+": "+message)
}

func (e *saidEvents) take() (all []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	all, e.all = e.all, nil
	return all
}

// A pod that is ignored because of its name is an Event, once until it has left its source.
func TestEventOfOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, said := NewMemory("file", nil), &saidEvents{}
		m, err := New(Config{Sources: []Source{a}, Events: said})
		if err != nil {
			t.Fatal(err)
		}
		run(t, m)
		message := func(uid string) string {
			return uid + ` Warning FailedValidation: Error validating pod x_default(` + uid + `) from file due to duplicate pod name "x", ignoring`
		}
		for _, c := range []struct {
			name string
			pods []*v1.Pod
			want []string
		}{
			{"two", []*v1.Pod{aPod("x", "1"), aPod("x", "2")}, []string{message("2")}},
			{"still there", []*v1.Pod{aPod("x", "1"), aPod("x", "2"), aPod("y", "3")}, nil},
			{"one more, twice", []*v1.Pod{aPod("x", "1"), aPod("x", "2"), aPod("x", "4"), aPod("x", "4")}, []string{message("4")}},
			{"one UID, two names", []*v1.Pod{aPod("x", "1"), aPod("z", "1")}, nil},
			{"there again", []*v1.Pod{aPod("x", "1"), aPod("x", "2")}, []string{message("2")}},
		} {
			a.Set(c.pods...)
			synctest.Wait()
			if got := said.take(); !slices.Equal(got, c.want) {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
	})
}
