package kernel

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestVolumeAt(t *testing.T) {
	const pods = "/var/lib/kubelet/pods/" + uid
	for at, want := range map[string]mountedVolume{
		pods + "/volumes/kubernetes.io~projected/kube-api-access-x7":                  {uid, "kubernetes.io/projected", "kube-api-access-x7"},
		pods + "/volumes/kubernetes.io~secret/keys":                                   {uid, "kubernetes.io/secret", "keys"},
		pods + "/volumes/kubernetes.io~csi/pvc-1/mount":                               {uid, "kubernetes.io/csi", "pvc-1"},
		"/data/pods/0123456789abcdef0123456789abcdef/volumes/kubernetes.io~nfs/share": {"0123456789abcdef0123456789abcdef", "kubernetes.io/nfs", "share"},
		pods + "/volumes/kubernetes.io~csi/pvc-1":                                     {},
		pods + "/volumes/kubernetes.io~nfs/share/mount":                               {},
		pods + "/volumes/kubernetes.io~nfs/share/within/it":                           {},
		pods + "/volume-subpaths/data/web/0":                                          {},
		pods + "/volumes":                                                             {},
		"/var/lib/kubelet/pods/WHO/volumes/kubernetes.io~nfs/x":                       {},
		"/mnt/volumes/kubernetes.io~nfs/share":                                        {},
		pods + "/volumes/nfs/share":                                                   {},
		pods + "/volumes/kubernetes.io~nfs/" + strings.Repeat("x", 300):               {},
	} {
		if got, ok := volumeAt(at); got != want || ok != (want.uid != "") {
			t.Errorf("%s is %+v %t, want %+v", at, got, ok, want)
		}
	}
}

// TestMounted sees the mounts that are new, with the time since the table was last the same as their precision. They wait until somebody tells
// of their pod, a minute at most.
func TestMounted(t *testing.T) {
	var got []string
	k := New(Config{Put: func(r trace.Record) {
		got = append(got, fmt.Sprintf("%s %s %+v after %v", r.Observer, r.Pod.UID, r.Event, r.Precision.Duration()))
	}})
	before := map[mountedVolume]string{{uid, "kubernetes.io/nfs", "old"}: "/old"}
	after := map[mountedVolume]string{{uid, "kubernetes.io/nfs", "new"}: "/new"}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if all := mountedNow(before, before, now.Add(-time.Millisecond), now); len(all) != 0 {
		t.Errorf("what was mounted before is new: %v", all)
	}
	waiting := k.putNamed(mountedNow(before, after, now.Add(-7*time.Millisecond), now), now)
	late := k.putNamed(waiting, now.Add(unnamedFor))
	if len(got) != 0 || len(waiting) != 1 || len(late) != 0 {
		t.Errorf("of a pod that nobody knows: put %q, %d wait, %d after %s", got, len(waiting), len(late), unnamedFor)
	}
	k.See(&trace.Record{Pod: trace.Pod{Namespace: "a", Name: "web", UID: uid}, Observer: trace.ObserverAPIServer, Event: &trace.Milestone{Name: trace.MilestoneSeen}})
	waiting = k.putNamed(waiting, now.Add(unnamedFor-1))
	want := fmt.Sprintf("kernel %s %+v after 7ms", uid, &trace.Volume{Op: trace.VolumeSetup, Name: "new", Plugin: "kubernetes.io/nfs", Path: "/new"})
	if len(got) != 1 || got[0] != want || len(waiting) != 0 {
		t.Errorf("got %q, want %q; %d wait", got, want, len(waiting))
	}
	many := make([]trace.Record, maxVolumes+1)
	for i := range many {
		many[i] = trace.Record{Time: now.UnixNano(), Pod: trace.Pod{UID: "another"}}
	}
	if kept := len(k.putNamed(many, now)); kept != maxVolumes {
		t.Errorf("%d mounts wait, want %d", kept, maxVolumes)
	}
}

// TestSetups sees which mounts are published: those of pods that somebody knows, and of which no one else tells the setup.
func TestSetups(t *testing.T) {
	k := New(Config{Put: func(trace.Record) {}})
	pod := trace.Pod{Namespace: "a", Name: "web", UID: uid}
	told := func(name string, edge trace.Edge, err string) *trace.Record {
		return &trace.Record{Edge: edge, Pod: pod, Observer: trace.ObserverKubeletLog, Event: &trace.Volume{Op: trace.VolumeSetup, Name: name, Err: err}}
	}
	mount := func(name string) *trace.Record {
		return &trace.Record{Pod: trace.Pod{UID: uid}, Observer: trace.ObserverKernel, Event: &trace.Volume{Op: trace.VolumeSetup, Name: name}}
	}
	see := func(r *trace.Record, want bool) {
		t.Helper()
		if got := k.See(r); got != want {
			t.Errorf("%+v is published: %t", r, got)
		}
	}
	see(mount("early"), false) // of a pod that nobody knows
	see(&trace.Record{Pod: pod, Trace: trace.TraceID{Lo: 7}, Observer: trace.ObserverKubeletLog, Event: &trace.Milestone{Name: trace.MilestoneSeen}}, true)
	alone := mount("alone")
	see(alone, true)
	if alone.Pod != pod || alone.Trace.Lo != 7 {
		t.Errorf("the mount is of %+v, trace %v", alone.Pod, alone.Trace)
	}
	see(told("failed", trace.EdgeEnd, "no secret"), true) // as a log without verbosity tells
	see(mount("failed"), true)
	see(told("both", trace.EdgeBegin, ""), true)
	see(mount("both"), false)
	see(told("both", trace.EdgeEnd, ""), true)
	see(mount("both"), false)
	see(&trace.Record{Pod: pod, Observer: trace.ObserverKubeletLog, Event: &trace.Milestone{Name: trace.MilestoneGone}}, true)
	if len(k.setups) != 0 {
		t.Errorf("%d setups are kept of a pod that is gone", len(k.setups))
	}
}
