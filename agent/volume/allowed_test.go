package volume

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A ReadWriteOncePod volume is of the first pod whose setup gets so far, until that has failed or the volume is torn down.
func TestOnlyOnePod(t *testing.T) {
	pv := &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}}}
	of := func(uid, name string) job {
		return job{op: op{key: key{uid: types.UID(uid), plugin: "p", name: name}}, want: &wanted{spec: Spec{PV: pv}}}
	}
	for name, c := range map[string]struct {
		b    state
		want bool
	}{
		"nobody has it":            {state{}, true},
		"its setup waits":          {state{busy: true}, true},
		"its setup is under way":   {state{busy: true, sole: true}, false},
		"mounted":                  {state{mounted: true}, false},
		"found":                    {state{found: true}, false},
		"mounted, being torn down": {state{mounted: true, busy: true, doing: tearDown}, false},
	} {
		a, b, other := of("a", "x"), of("b", "x"), of("a", "y")
		m := &Manager{states: map[key]*state{a.key: {}, b.key: &c.b, other.key: {}}}
		if err := m.allowed(a); (err == nil) != c.want || m.states[a.key].sole != c.want {
			t.Errorf("%s: %v", name, err)
		}
		if err := m.allowed(b); (err == nil) == c.want {
			t.Errorf("%s: the other pod, afterwards: %v", name, err)
		}
		if err := m.allowed(other); err != nil {
			t.Errorf("%s: another volume: %v", name, err)
		}
		a.adopt = true
		if err := m.allowed(a); err != nil {
			t.Errorf("%s: adopted: %v", name, err)
		}
	}
	a, b := of("a", "x"), of("b", "x")
	m := &Manager{kicked: make(chan struct{}, 1), states: map[key]*state{a.key: {busy: true}, b.key: {busy: true}}}
	if err := m.allowed(a); err != nil {
		t.Fatal(err)
	}
	m.finish(a, done{}, ErrStopped)
	if err := m.allowed(b); err != nil {
		t.Errorf("after the first pod's setup failed: %v", err)
	}
}
