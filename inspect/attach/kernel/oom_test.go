package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestOutOfMemory counts kills by cgroup: those before the beginning do not count, and with v2 those in a container that is gone do.
func TestOutOfMemory(t *testing.T) {
	const other = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
	pod := "kubepods/burstable/pod" + uid
	for name, tc := range map[string]struct {
		v2         bool
		file       string
		gone, lost []trace.OOMKill // of a container that stays, and of one that goes
	}{
		"v1": {file: "memory.oom_control", gone: []trace.OOMKill{{Container: id, Name: "web", Cgroup: "/" + pod + "/" + id, Kills: 2}}},
		"v2": {
			v2: true, file: "memory.events", gone: []trace.OOMKill{{Container: id, Name: "web", Cgroup: "/" + pod + "/" + id, Kills: 2}},
			lost: []trace.OOMKill{{Container: other, Name: "db", Cgroup: "/" + pod, Kills: 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cpu := t.TempDir()
			h := hierarchy{mount: cpu, cpu: filepath.Join(cpu, "kubepods"), v2: tc.v2}
			if !tc.v2 {
				h.memory = filepath.Join(t.TempDir(), "kubepods")
			}
			count := func(dir string, n int) {
				file := filepath.Join(filepath.Dir(h.oomFile(filepath.Join(cpu, dir))), tc.file)
				tree(t, "/", map[string]string{file: fmt.Sprintf("under_oom 0\noom_kill %d\n", n), filepath.Join(cpu, dir, "cpu.stat"): ""})
			}
			var got []trace.OOMKill
			k := New(Config{Put: func(r trace.Record) { got = append(got, *r.Event.(*trace.OOMKill)) }})
			machine, now := 7, time.Now()
			look := func() []trace.OOMKill {
				got = nil
				k.outOfMemory(&h, fmt.Appendf(nil, "pgscan_direct 0\noom_kill %d\n", machine), now)
				for i := range got {
					r := trace.Record{Observer: trace.ObserverKernel, Event: &got[i]}
					k.See(&r)
					if got[i] = *r.Event.(*trace.OOMKill); r.Pod.Name != "web" {
						t.Errorf("of %v: %+v", r.Pod, got[i])
					}
				}
				k.limits.look(h, now)
				return got
			}
			k.See(&trace.Record{Pod: trace.Pod{Namespace: "a", Name: "web", UID: uid}, Event: &trace.PodStatus{Containers: []trace.ContainerStatus{{Name: "web", ID: id}, {Name: "db", ID: other}}}})
			pods := 3
			if !tc.v2 {
				pods = 0
			}
			count(pod, pods)
			count(pod+"/"+id, 3)
			k.limits.look(h, now)
			if all := look(); len(all) > 0 {
				t.Errorf("before the beginning: %+v", all)
			}
			count(pod+"/"+other, 0)
			look()
			count(pod+"/"+id, 5)
			if all := look(); len(all) > 0 {
				t.Errorf("where the machine has no kill: %+v", all)
			}
			if tc.v2 {
				count(pod, 5)
			}
			machine += 2
			if diff := cmp.Diff(tc.gone, look()); diff != "" {
				t.Error(diff)
			}
			if tc.v2 {
				count(pod, 6)
			}
			if err := os.RemoveAll(filepath.Dir(h.oomFile(filepath.Join(cpu, pod, other)))); err != nil {
				t.Fatal(err)
			}
			machine++
			if diff := cmp.Diff(tc.lost, look()); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, text := range []string{"", "oom_kill", "oom_kill x", "oom_kill -1", "oom_kill_disable 0\n"} {
		if n, ok := oomKills([]byte(text)); ok {
			t.Errorf("%q: %d", text, n)
		}
	}
}
