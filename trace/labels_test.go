package trace

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLabelsOf(t *testing.T) {
	if got := LabelsOf(nil); got == nil || len(got.Items) != 0 || got.Clipped != 0 {
		t.Errorf("no labels are %+v", got)
	}
	got := LabelsOf(map[string]string{"b": "2", "a": "", "x/long": strings.Repeat("v", maxText+1)})
	if diff := cmp.Diff(&Labels{Items: []KV{{K: "a"}, {K: "b", V: "2"}}, Clipped: 1}, got); diff != "" {
		t.Error(diff)
	}
	for key, want := range map[string]bool{"a": true, "b": true, "c": false} {
		if _, ok := got.Get(key); ok != want {
			t.Errorf("%s: found %t", key, ok)
		}
	}
}

// TestManyLabels: a pod may have any number of labels. Those that are kept are whole, also after they were published.
func TestManyLabels(t *testing.T) {
	all := map[string]string{}
	for n := range 1000 {
		all[fmt.Sprintf("%s.example.com/%04d", strings.Repeat("x", 240), n)] = strings.Repeat("v", 63)
	}
	got := LabelsOf(all)
	if len(got.Items)+got.Clipped != 1000 || len(got.Items) < 5 {
		t.Fatalf("%d labels, %d left", len(got.Items), got.Clipped)
	}
	r := Record{Event: &Milestone{Name: MilestoneSeen, Labels: LabelsOf(all)}}
	if r.Limit(); cmp.Diff(got, r.Event.(*Milestone).Labels) != "" {
		t.Error("publishing changes labels")
	}
}

// TestLabelsInJSON: that a pod has no labels is not the same as unknown labels.
func TestLabelsInJSON(t *testing.T) {
	for _, want := range []*Labels{nil, {}, {Items: []KV{{K: "app", V: "web"}}, Clipped: 2}} {
		text, err := json.Marshal(Record{Seq: 1, Event: &Milestone{Name: MilestoneSeen, Labels: want}})
		if err != nil {
			t.Fatal(err)
		}
		var r Record
		if err := r.ParseJSON(text); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, r.Event.(*Milestone).Labels); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}
