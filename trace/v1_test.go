package trace

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestChangesV1: recordings of the first schema describe in sentences what a write changed. Conditions become values;
// others stay text.
func TestChangesV1(t *testing.T) {
	for said, want := range map[string]Change{
		"Ready False → True (KubeletReady)":       {What: ChangeCondition, Name: "Ready", From: "False", To: "True", Reason: "KubeletReady"},
		"Ready False (ContainersNotReady) → True": {What: ChangeCondition, Name: "Ready", From: "False", FromReason: "ContainersNotReady", To: "True"},
		"PodScheduled - → True":                   {What: ChangeCondition, Name: "PodScheduled", To: "True"},
		"MemoryPressure False (Enough)":           {What: ChangeCondition, Name: "MemoryPressure", To: "False", Reason: "Enough"},
		"Ready: True":                             {What: ChangeOther, Message: "Ready: True"},
		"phase Pending → Running":                 {What: ChangeOther, Message: "phase Pending → Running"},
		"web ready false → true":                  {What: ChangeOther, Message: "web ready false → true"},
		"labels":                                  {What: ChangeOther, Message: "labels"},
	} {
		for _, kind := range []string{"status.patch", "node.status"} {
			var r Record
			line := fmt.Sprintf(`{"seq":1,"time":"2026-03-01T12:00:00.000000000Z","kind":%q,"event":{"op":"patch","changed":[%q,"3 more"]}}`, kind, said)
			if err := r.ParseJSON([]byte(line)); err != nil {
				t.Fatal(err)
			}
			var changed []Change
			var more int
			switch e := r.Event.(type) {
			case *StatusPatch:
				changed, more = e.Changed, e.Clipped
			case *NodeStatus:
				changed, more = e.Changed, e.Clipped
			default:
				t.Fatalf("%s is read as %T", kind, e)
			}
			if diff := cmp.Diff([]Change{want}, changed); diff != "" || more != 3 {
				t.Errorf("%s %q: %d more, want 3 (-want +got):\n%s", kind, said, more, diff)
			}
		}
	}
	var r Record
	line := `{"seq":1,"time":"2026-03-01T12:00:00.000000000Z","kind":"node.status","event":{"op":"register","changed":["the API server says: AlreadyExists"]}}`
	if err := r.ParseJSON([]byte(line)); err != nil || r.Event.(*NodeStatus).Refused != "AlreadyExists" {
		t.Errorf("got %+v, %v, want AlreadyExists", r.Event, err)
	}
}

// TestPressureV1: recordings of the first schema describe the thresholds of a resource in a sentence.
func TestPressureV1(t *testing.T) {
	for rule, want := range map[string][]Threshold{
		"image GC at 85% → 80%, pressure below 15% free": {{Kind: ThresholdImageGC, Percent: 85, DownTo: 80}, {Kind: ThresholdPressure, Percent: 15}},
		"no image GC by usage":                           {{Kind: ThresholdImageGC, Percent: 100}},
		"pressure below 1.5Gi free":                      {{Kind: ThresholdPressure, Bytes: 3 << 29}},
		"pressure below 100 free":                        {{Kind: ThresholdPressure, Bytes: 100}},
		"pressure below much free":                       nil,
		"":                                               nil,
	} {
		var r Record
		line := fmt.Sprintf(`{"seq":1,"time":"2026-03-01T12:00:00.000000000Z","kind":"pressure","event":{"signal":"imagefs","used":1,"capacity":2,"rule":%q}}`, rule)
		if err := r.ParseJSON([]byte(line)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&Pressure{Signal: SignalImageFS, Used: 1, Capacity: 2, Thresholds: want}, r.Event); diff != "" {
			t.Errorf("%q (-want +got):\n%s", rule, diff)
		}
	}
}
