package pluginwatch

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPlan(t *testing.T) {
	now := time.Unix(100, 0)
	one, two := identity{file: file{ino: 1}}, identity{file: file{ino: 2}}
	reg := &plugin{kind: "k", name: "p"}
	for _, tc := range []struct {
		name  string
		seen  map[string]identity
		known map[string]*entry
		want  []op
		next  time.Time
	}{
		{name: "new", seen: map[string]identity{"a": one}, want: []op{{register, "a"}}},
		{name: "registered", seen: map[string]identity{"a": one}, known: map[string]*entry{"a": {id: one, registered: reg}}},
		{name: "busy", known: map[string]*entry{"a": {id: one, busy: true}}},
		{name: "gone", known: map[string]*entry{"a": {id: one, registered: reg}}, want: []op{{deregister, "a"}}},
		{name: "gone, never registered", known: map[string]*entry{"a": {id: one}}, want: []op{{forget, "a"}}},
		{name: "another", seen: map[string]identity{"a": two}, known: map[string]*entry{"a": {id: one, registered: reg}}, want: []op{{deregister, "a"}}},
		{
			name: "back-off", seen: map[string]identity{"a": one}, known: map[string]*entry{"a": {id: one, retryAt: now.Add(time.Second)}},
			next: now.Add(time.Second),
		},
		{
			name: "another ends the back-off", seen: map[string]identity{"a": two}, known: map[string]*entry{"a": {id: one, retryAt: now.Add(time.Second)}},
			want: []op{{register, "a"}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, next := plan(tc.seen, tc.known, now)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(op{})); diff != "" || !next.Equal(tc.next) {
				t.Errorf("next %v (-want +got):\n%s", next, diff)
			}
		})
	}
}
