package say_test

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

func TestChange(t *testing.T) {
	for want, c := range map[string]trace.Change{
		"Ready False → True (KubeletReady)":                   {What: trace.ChangeCondition, Name: "Ready", From: "False", To: "True", Reason: "KubeletReady"},
		"Ready False (ContainersNotReady) → True":             {What: trace.ChangeCondition, Name: "Ready", From: "False", FromReason: "ContainersNotReady", To: "True"},
		"MemoryPressure False (Enough)":                       {What: trace.ChangeCondition, Name: "MemoryPressure", To: "False", Reason: "Enough"},
		"Ready: a message":                                    {What: trace.ChangeCondition, Name: "Ready", From: "True", To: "True", Message: "a message"},
		"PodScheduled True → -":                               {What: trace.ChangeCondition, Name: "PodScheduled", From: "True"},
		"init web waiting (PodInitializing) → running":        {What: trace.ChangeInit, Name: "web", From: "waiting", FromReason: "PodInitializing", To: "running"},
		"ephemeral sh running → terminated (Error, 1)":        {What: trace.ChangeEphemeral, Name: "sh", From: "running", To: "terminated", Reason: "Error", Code: 1},
		"web restarts 0 → 1":                                  {What: trace.ChangeContainer, Name: "web", Field: "restarts", From: "0", To: "1"},
		"web details":                                         {What: trace.ChangeContainer, Name: "web", Field: "details"},
		"capacity cpu 4 → 8":                                  {What: trace.ChangeCapacity, Name: "cpu", From: "4", To: "8"},
		"allocatable example.com/gpu 1 → none":                {What: trace.ChangeAllocatable, Name: "example.com/gpu", From: "1"},
		"capacity":                                            {What: trace.ChangeCapacity},
		"pod IP 10.0.0.1":                                     {What: trace.ChangeField, Name: "pod IP", To: "10.0.0.1"},
		"what a recording of the first schema has of a write": {What: trace.ChangeOther, Message: "what a recording of the first schema has of a write"},
	} {
		if got := say.Change(&c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got, want := say.Changes([]trace.Change{{Name: "labels"}, {Name: "images"}}, 3), "labels, images, 3 more"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
