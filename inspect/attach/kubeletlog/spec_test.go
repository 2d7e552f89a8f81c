package kubeletlog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestKnow reads logs of pods whose specs somebody told: when they have started and are ready is known sooner, and where it is not, nobody
// guesses.
func TestKnow(t *testing.T) {
	pleg := func(at, kind, id string) string {
		return at + fmt.Sprintf(` I "SyncLoop (PLEG): event for pod" pod="shop/web" event={"ID":"u1","Type":%q,"Data":%q}`, kind, strings.Repeat(id, 64))
	}
	const add = `01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`
	const fresh = `01.1 I "No sandbox for pod can be found. Need to start a new one" pod="shop/web"`
	probed := trace.ContainerSpec{Name: "web", Probes: []trace.ProbeSpec{{Probe: trace.ProbeReadiness}}}
	for _, c := range []struct {
		name string
		spec trace.PodSpec
		log  []string
		want string
	}{
		{
			name: "at V2, without a probe", spec: trace.PodSpec{Containers: []trace.ContainerSpec{{Name: "web"}}},
			log: []string{add, fresh, pleg("02.0", "ContainerStarted", "a"), pleg("02.0", "ContainerStarted", "b")}, want: "01.0 seen, 02.0 started, 02.0 ready",
		},
		{
			name: "at V2, with another container to come", spec: trace.PodSpec{Containers: []trace.ContainerSpec{{Name: "web"}, {Name: "side"}}},
			log: []string{add, fresh, pleg("02.0", "ContainerStarted", "a"), pleg("02.0", "ContainerStarted", "b")}, want: "01.0 seen",
		},
		{
			name: "at V2, an init container runs", spec: trace.PodSpec{InitContainers: []trace.ContainerSpec{{Name: "init"}}, Containers: []trace.ContainerSpec{{Name: "web"}}},
			log: []string{add, fresh, pleg("02.0", "ContainerStarted", "a"), pleg("02.0", "ContainerStarted", "b")}, want: "01.0 seen",
		},
		{
			name: "at V2, after an init container", spec: trace.PodSpec{InitContainers: []trace.ContainerSpec{{Name: "init"}}, Containers: []trace.ContainerSpec{{Name: "web"}}},
			log: []string{
				add, fresh, pleg("02.0", "ContainerStarted", "a"), pleg("02.0", "ContainerStarted", "b"), pleg("05.0", "ContainerDied", "b"), pleg("05.0", "ContainerStarted", "c"),
			}, want: "01.0 seen, 05.0 started, 05.0 ready",
		},
		{
			name: "a probe", spec: trace.PodSpec{Containers: []trace.ContainerSpec{probed}},
			log: []string{add, fresh, pleg("02.0", "ContainerStarted", "a"), pleg("02.0", "ContainerStarted", "b")}, want: "01.0 seen, 02.0 started",
		},
		{
			name: "two probes", spec: trace.PodSpec{Containers: []trace.ContainerSpec{probed, probed}},
			log: []string{
				add, fresh, pleg("02.0", "ContainerStarted", "a"), pleg("02.0", "ContainerStarted", "b"), pleg("02.0", "ContainerStarted", "c"),
				`03.0 I "SyncLoop (probe)" probe="readiness" status="ready" pod="shop/web"`, `05.0 I "SyncLoop (probe)" probe="readiness" status="ready" pod="shop/web"`,
			}, want: "01.0 seen, 02.0 started, 05.0 ready",
		},
		{
			name: "at V3, the last container", spec: trace.PodSpec{Containers: []trace.ContainerSpec{{Name: "web"}, {Name: "side"}}},
			log: []string{
				add, fresh, `02.5 I "Event occurred" object="shop/web" fieldPath="spec.containers{web}" kind="Pod" type="Normal" reason="Started" message="Container started"`,
				`04.5 I "Event occurred" object="shop/web" fieldPath="spec.containers{side}" kind="Pod" type="Normal" reason="Started" message="Container started"`,
			}, want: "01.0 seen, 04.5 started, 04.5 ready",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := NewFold()
			f.Know(trace.Pod{Namespace: "shop", Name: "web", UID: "u1"}, &c.spec)
			at := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
			for _, l := range c.log {
				sec, rest, _ := strings.Cut(l, " ")
				e, ok := klog.ParseText(rest[:1]+"1122 08:00:"+sec+"00000 1 a.go:1] "+rest[2:], &klog.Clock{Zone: time.UTC, Latest: at.Add(time.Hour)})
				if !ok {
					t.Fatal(l)
				}
				f.Apply(&e)
			}
			f.Until(at.Add(7 * time.Second).UnixNano()) // sooner than anybody guesses
			var got []string
			for r, _, ok := f.Next(true); ok; r, _, ok = f.Next(true) {
				if e, ok := r.Event.(*trace.Milestone); ok {
					got = append(got, r.At().UTC().Format("05.0 ")+string(e.Name))
				}
			}
			if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
