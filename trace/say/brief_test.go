package say

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestBriefInWords(t *testing.T) {
	for want, e := range map[string]trace.Event{
		"container schema exited": &trace.PLEGEvent{Type: "ContainerDied", Name: "schema"},
		"ContainerStarted schema": &trace.PLEGEvent{Type: "ContainerStarted", Name: "schema"},
		"report will not be restarted: restartPolicy OnFailure: ended with exit code 0": &trace.Decision{
			By: trace.ByRestart, Subject: "report", Verdict: trace.VerdictLeave, Reason: "restartPolicy OnFailure: ended with exit code 0",
		},
		"remove old:1: unused":              &trace.Decision{By: trace.ByImageGC, Subject: "old:1", Verdict: trace.VerdictRemove, Reason: "unused"},
		"Started: web: it runs":             &trace.NodeEvent{Reason: "Started", Message: "it runs", Field: "spec.containers{web}"},
		"cpu 130ms in 10.0s, memory 48 MiB": &trace.Usage{Interval: 10 * time.Second, CPU: 130 * time.Millisecond, RSS: 48 << 20},
		"FileSystemResizeFailed: persistentvolumeclaim/data: it is read-only": &trace.NodeEvent{
			Reason: "FileSystemResizeFailed", Message: "it is read-only", Object: "persistentvolumeclaim/data",
		},
		"NetworkNotReady: no CNI (yet)": &trace.NodeEvent{Reason: "NetworkNotReady", Message: "no CNI (yet)"},
	} {
		if got := Brief(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestThresholds(t *testing.T) {
	for want, all := range map[string][]trace.Threshold{
		"pressure below 200 MiB free for 1m30s":          {{Kind: trace.ThresholdPressure, Bytes: 200 << 20, After: 90 * time.Second}},
		"image GC at 85% → 80%, pressure below 15% free": {{Kind: trace.ThresholdImageGC, Percent: 85, DownTo: 80}, {Kind: trace.ThresholdPressure, Percent: 15}},
		"no image GC by usage":                           {{Kind: trace.ThresholdImageGC, Percent: 100}},
		"pressure below 100 MiB free":                    {{Kind: trace.ThresholdPressure, Bytes: 100 << 20}},
	} {
		if got := Thresholds(trace.SignalMemory, all); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
