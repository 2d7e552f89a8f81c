package volume

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func TestPlan(t *testing.T) {
	now := time.Unix(1000, 0)
	a, b := key{"a", "p", "data", false}, key{"b", "p", "data", false}
	wants := func(order uint64, keys ...key) *pod {
		p := &pod{order: order, wanted: map[key]*wanted{}}
		for _, k := range keys {
			p.wanted[k] = &wanted{version: "1"}
		}
		return p
	}
	released := func(order uint64) *pod { return &pod{order: order, released: true} }
	for _, tc := range []struct {
		name   string
		pods   map[types.UID]*pod
		states map[key]*state
		want   []string
		next   time.Time
	}{
		{name: "nothing"},
		{
			name: "new", pods: map[types.UID]*pod{"a": wants(1, a)},
			want: []string{"setup a/data"},
		},
		{
			name: "there", pods: map[types.UID]*pod{"a": wants(1, a)},
			states: map[key]*state{a: {mounted: true, version: "1"}},
		},
		{
			name: "changed", pods: map[types.UID]*pod{"a": wants(1, a)},
			states: map[key]*state{a: {mounted: true, version: "0"}},
			want:   []string{"setup a/data"},
		},
		{
			name: "found on disk", pods: map[types.UID]*pod{"a": wants(1, a)},
			states: map[key]*state{a: {found: true, version: "1"}},
			want:   []string{"adopt a/data"},
		},
		{
			name: "found, of nobody yet", states: map[key]*state{a: {found: true}},
		},
		{
			name: "found, not in the spec", pods: map[types.UID]*pod{"a": wants(1)},
			states: map[key]*state{a: {found: true}},
		},
		{
			name: "released", pods: map[types.UID]*pod{"a": released(1)},
			states: map[key]*state{a: {mounted: true}, b: {mounted: true}},
			want:   []string{"teardown a/data"},
		},
		{
			name: "released, found", pods: map[types.UID]*pod{"a": released(1)},
			states: map[key]*state{a: {found: true}},
			want:   []string{"teardown a/data"},
		},
		{
			name: "busy", pods: map[types.UID]*pod{"a": wants(1, a), "b": released(2)},
			states: map[key]*state{a: {busy: true}, b: {busy: true}},
		},
		{
			name: "back-off, the earlier is next", pods: map[types.UID]*pod{"a": wants(1, a), "b": released(2)},
			states: map[key]*state{a: {retryAt: now.Add(3 * time.Second)}, b: {retryAt: now.Add(time.Second)}},
			next:   now.Add(time.Second),
		},
		{
			name: "back-off is over", pods: map[types.UID]*pod{"a": wants(1, a)},
			states: map[key]*state{a: {retryAt: now}},
			want:   []string{"setup a/data"},
		},
		{
			name: "in order of arrival", pods: map[types.UID]*pod{"a": wants(2, a, key{"a", "p", "cache", false}), "b": wants(1, b)},
			want: []string{"setup b/data", "setup a/cache", "setup a/data"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ops, next := plan(tc.pods, tc.states, nil, nil, now)
			var got []string
			for _, o := range ops {
				what := o.verb.String()
				if o.adopt {
					what = "adopt"
				}
				got = append(got, fmt.Sprintf("%s %s/%s", what, o.key.uid, o.key.name))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ops (-want +got):\n%s", diff)
			}
			if !next.Equal(tc.next) {
				t.Errorf("next %v, want %v", next, tc.next)
			}
		})
	}
}

func TestBackoffDoublesToItsLimit(t *testing.T) {
	var s state
	var got []time.Duration
	for range 10 {
		s.fail(setUp, 1, nil, time.Time{})
		got = append(got, s.delay)
	}
	want := []time.Duration{
		500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second,
		16 * time.Second, 32 * time.Second, 64 * time.Second, 122 * time.Second, 122 * time.Second,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A set-up that has waited for an attachment in vain is tried again soon.
	for range 3 {
		s.fail(setUp, 1, &Error{Err: &StageError{Err: NotAttached("x")}}, time.Time{})
		if s.delay != firstDelay {
			t.Errorf("not attached: %v", s.delay)
		}
	}
}
