package tui

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/tuitest"
)

// TestScriptFiles writes scripted sessions as JSON lines, for the gallery.
func TestScriptFiles(t *testing.T) {
	for name, recs := range map[string][]trace.Record{"machine": tuitest.Machine(), "claims": tuitest.Claims(), "attached": tuitest.Attached()} {
		var got []byte
		for _, r := range recs {
			var err error
			if got, err = r.AppendJSON(got); err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
		}
		path := filepath.Join("testdata", "recordings", name+".jsonl")
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(want, got) {
			t.Errorf("%s is of another session, %v; go test -update writes it anew", path, err)
		}
	}
}

// marked is the line that has the cursor.
func (d *driver) marked() string {
	lines := strings.Split(d.screen(), "\n")
	for _, l := range lines[2:] {
		if strings.Contains(l, "▶") {
			return strings.TrimSpace(strings.NewReplacer("▶", "", "│", "").Replace(l))
		}
	}
	return ""
}

// TestResourcesCursor: the cursor moves over the edges of tables, or with a key to the next table, and stays on its row.
func TestResourcesCursor(t *testing.T) {
	for _, size := range sizes {
		bubble(t, fmt.Sprint(size), func(t *testing.T) {
			d := drive(t, Config{}, size[0], size[1]).machine().keys("n")
			for _, c := range []struct{ keys, want string }{
				{"", "0    cpu"},
				{"up", "0    cpu"},
				{"j j j j j", "1    hugepages-1Gi"},
				{"j", "ml/large-0"},
				{"k", "1    hugepages-1Gi"},
				{"m m", "example.com/fpga"},
				{"m", "db/redis-0/redis"},
				{"k", "nvidia.com/gpu"},
				{"down G", "radio/l1-0/phy"},
				{"down", "radio/l1-0/phy"},
				{"m", "1    hugepages-1Gi"}, // the tables keep their rows
				{"m", "ml/large-0"},
				{"2 n", "ml/large-0"},
			} {
				if got := d.keys(c.keys).marked(); !strings.HasPrefix(got, c.want) {
					t.Errorf("%q: %q, want %q", c.keys, got, c.want)
				}
			}
		})
	}
}

// TestResourcesKeys: Enter opens, w says why, and the pod that is selected in another view is selected here.
func TestResourcesKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drive(t, Config{}, 120, 40).machine()
		d.keys("n enter").want("NUMA node 0", "0-15,32-47", "exclusive", "db/redis-0/redis: CPUs 2-3,34-35, 16 GiB of memory")
		d.keys("esc w").want("no pod is selected")
		d.keys("m j enter").want("ml/train-7c9d-b8m", "UnexpectedAdmissionError", "4 nvidia.com/gpu")
		d.keys("esc w").want("why ml/train-7c9d-b8m", "KL42")
		d.keys("esc k w").want("why ml/large-0", "KL41", "TopologyAffinityError")
		d.keys("esc m enter").want("example.com/fpga", "gone since", "EOF", "fpga0, NUMA node 0")
		d.keys("esc m enter").want("db/redis-0/redis", "redis has CPUs 2-3,34-35", "16 GiB of memory from NUMA node 0")
		d.keys("esc 3 / d p d k enter enter esc").keys("3 n").want("net/dpdk-1/fwd")
		if got := d.marked(); !strings.HasPrefix(got, "net/dpdk-1/fwd") {
			t.Errorf("the cursor is on %q", got)
		}
		d.keys("/ r e a s o n = S M T A l i g n m e n t E r r o r enter").want("ml/notebook-3")
		d.wantNot("nvidia.com/gpu", "redis")
		d.keys("esc / a l l o c a t e d > 1 0 enter").want("16-23,48-55")
		d.wantNot("notebook")
		d.keys("esc m L").want("topology manager")
		click(d, 10, lineOf(d, "intel.com"))
		d.want("sriov.sock")
	})
}

// A pod with pod-level resources has a row before those of its containers, and with the cursor on it, all of its CPUs.
func TestResourcesOfPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, pod := &tuitest.Script{}, tuitest.Span{}.Of(trace.Pod{Namespace: "db", Name: "redis-0", UID: "r"})
		s.Point(0, tuitest.Span{}, &trace.ResourcesDescribed{
			CPUPolicy: "static", MemoryPolicy: "None", TopologyPolicy: "restricted", Scope: "pod", Nodes: []trace.NUMANode{{ID: 0, CPUs: "0-7"}}, Reserved: "0", Pool: "0-7",
		})
		cpu := trace.Allocation{Manager: trace.ManagerCPU, Policy: "static", Outcome: trace.AllocationGranted, Nodes: "0", Pool: "0-1,6-7"}
		for source, container := range map[trace.AllocationSource]string{trace.SourcePod: "", trace.SourcePodExclusive: "redis", trace.SourcePodShared: "log"} {
			e := cpu
			e.Source, e.Container = source, container
			e.CPUs = map[trace.AllocationSource]string{trace.SourcePod: "2-5", trace.SourcePodExclusive: "2-3", trace.SourcePodShared: "4-5"}[source]
			s.Point(time.Second, pod, &e)
		}
		d := drive(t, Config{}, 120, 40)
		d.app.apply([]chunk{{recs: s.Records()}})
		d.app.setNow()
		d.app.refresh()
		d.keys("n enter").want("db/redis-0: CPUs 2-5", "db/redis-0/redis: CPUs 2-3")
		d.wantNot("log")
		d.keys("esc m m m enter").want("all of the pod", "the pod has CPUs 2-5 (NUMA node 0) for all of its containers")
		d.keys("esc j enter").want("db/redis-0/redis", "redis has CPUs 2-3 (NUMA node 0) of the pod for itself")
	})
}

// TestClaims: Enter opens all that is known of a claim, and w says why a pod waits for one.
func TestClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drive(t, Config{}, 120, 40).claims()
		d.keys("n").want("db/cache-nic", "restored", "DRA driver", "not unprepared", "1 unhealthy")
		d.keys("m").want("▶db/cache-nic")
		d.keys("j j j enter").want("train-7c9d-x2z-gpus-4kq8t", "example.com/nvlink=0", "Unhealthy: XID 79: the GPU has fallen off the bus", "ml/train-7c9d-x2z/cuda")
		d.keys("esc k k enter").want("being prepared since", "for ")
		d.keys("esc / d r i v e r = g p u . e x a m p l e . c o m enter").want("ml/shared-gpu")
		d.wantNot("dpdk")
		d.keys("esc G w").want("the records of web/old-1 are not kept")
		d.keys("esc k w").want("why radio/l1-0", "KL44", "fpga.example.com")
		d.keys("esc k w").want("no pod is selected") // its pod is not known any more
	})
}

// TestManyClaims: a claim with more devices and pods than are known, and more claims than a screen has lines.
func TestManyClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drive(t, Config{}, 80, 24)
		recs := tuitest.Claims()
		for i := range 5000 {
			e := trace.ClaimDescribed{Namespace: "many", Name: fmt.Sprintf("claim-%04d", i), State: trace.ClaimReady, Count: 40, Users: 50}
			e.Devices = []trace.ClaimDevice{{Driver: "gpu.example.com", Pool: "p", Device: "d"}}
			e.Pods = []trace.ClaimPod{{Pod: trace.Pod{Namespace: "many", Name: "p", UID: "p"}}}
			recs = append(recs, trace.Record{Seq: recs[len(recs)-1].Seq + 1, Time: recs[len(recs)-1].Time, Event: &e})
		}
		d.app.apply([]chunk{{recs: recs}})
		d.app.setNow()
		d.app.refresh()
		d.keys("n m").want("claim-")
		d.keys("G enter").want("and 39 more devices", "and 49 more pods")
		within(t, d.screen(), 80, 24)
	})
}

// lineOf is the number of the first line of the screen with that text.
func lineOf(d *driver, text string) int {
	for i, l := range strings.Split(d.screen(), "\n") {
		if strings.Contains(l, text) {
			return i
		}
	}
	return -1
}

// TestResourcesSizes presses all keys in all sizes, with and without rows.
func TestResourcesSizes(t *testing.T) {
	for _, size := range [][2]int{{40, 8}, {60, 16}, {80, 24}, {100, 30}, {130, 31}, {200, 50}} {
		for name, play := range map[string]func(*driver) *driver{"machine": (*driver).machine, "claims": (*driver).claims, "none": (*driver).play, "some": (*driver).some} {
			bubble(t, fmt.Sprint(name, size), func(t *testing.T) {
				d := play(drive(t, Config{}, size[0], size[1])).keys("n")
				for range 4 {
					for _, b := range d.app.top().Keys() {
						for _, key := range b.Keys() {
							d.send(press(key))
							within(t, d.screen(), size[0], size[1])
							d.keys("esc esc n")
						}
					}
					d.keys("m")
				}
				for y := range size[1] {
					d.send(tea.MouseClickMsg{X: 3, Y: y, Button: tea.MouseLeft})
					within(t, d.screen(), size[0], size[1])
				}
			})
		}
	}
}

// some gives the app a machine of eight NUMA nodes with more containers than a screen has lines, many one with 10,000.
func (d *driver) some() *driver { return d.devices(100) }
func (d *driver) many() *driver { return d.devices(10_000) }

func (d *driver) devices(count int) *driver {
	d.t.Helper()
	d.app.apply([]chunk{{recs: tuitest.Devices(count)}})
	d.app.setNow()
	d.app.refresh()
	return d
}

// TestManyDevices: the details of a resource have ranges.
func TestManyDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drive(t, Config{}, 120, 40).many().keys("n")
		d.want("10,000")
		d.keys("m enter").want("which        dev[0-9999]", "containers that have them: 10,000")
		within(t, d.screen(), 120, 40)
	})
}

// BenchmarkManyDevices draws a frame while all that is shown changes.
func BenchmarkManyDevices(b *testing.B) {
	a := newApp(b.Context(), Config{Now: func() time.Time { return tuitest.Epoch.Add(tuitest.Length) }, Env: []string{"TERM=xterm-256color"}}, style.New(false), newPump(none{}))
	a.update(tea.WindowSizeMsg{Width: 120, Height: 40})
	recs := tuitest.Devices(10_000)
	a.apply([]chunk{{recs: recs}})
	a.setNow()
	a.refresh()
	a.key(press("n"))
	last := recs[len(recs)-1:]
	for b.Loop() {
		a.apply([]chunk{{recs: last}})
		a.refresh()
		_ = a.view()
	}
}
