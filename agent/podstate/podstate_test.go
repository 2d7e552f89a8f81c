package podstate

import "testing"

func TestLookUps(t *testing.T) {
	var none *Pod
	if none.Newest("web") != nil || none.Container("1") != nil || none.Sandbox() != nil || none.Active() {
		t.Error("nothing seen must look like nothing")
	}
	p := &Pod{
		Sandboxes:  []Sandbox{{ID: "new"}, {ID: "old"}},
		Containers: []Container{{ID: "2", Name: "web"}, {ID: "1", Name: "web"}},
	}
	if got := p.Newest("web"); got.ID != "2" {
		t.Errorf("newest web is %s", got.ID)
	}
	if got := p.Container("1"); got.ID != "1" {
		t.Errorf("container 1 is %s", got.ID)
	}
	if got := p.Sandbox(); got.ID != "new" {
		t.Errorf("sandbox is %s", got.ID)
	}
	if p.Newest("log") != nil || p.Container("3") != nil {
		t.Error("what is not there is found")
	}
}

func TestActive(t *testing.T) {
	for _, tc := range []struct {
		name string
		pod  Pod
		want bool
	}{
		{"nothing", Pod{}, false},
		{"a ready sandbox", Pod{Sandboxes: []Sandbox{{}, {Ready: true}}}, true},
		{"a running container", Pod{Containers: []Container{{State: Exited}, {State: Running}}}, true},
		{"one of unknown state", Pod{Containers: []Container{{State: Unknown}}}, true},
		{"remains", Pod{Sandboxes: []Sandbox{{}}, Containers: []Container{{State: Exited}, {State: Created}}}, false},
	} {
		if got := tc.pod.Active(); got != tc.want {
			t.Errorf("%s: active %v, want %v", tc.name, got, tc.want)
		}
	}
}
