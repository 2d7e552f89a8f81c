package eviction

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// world is a node of 1000 bytes of memory and of disk. What its pods use and the free memory are set by tests.
type world struct {
	t     *testing.T
	began time.Time
	stall chan struct{}

	mu           sync.Mutex
	memory, disk int64 // free
	fails        error // of Measure
	lost         error // of Usage
	garbage      int64 // what removing containers and images frees
	pods         []*v1.Pod
	stats        map[types.UID]*statsapi.PodStats
	ending       map[types.UID]time.Time // when pods that are terminating end
	graces       map[types.UID]int64     // of those, in seconds
	empty        map[types.UID]bool      // pods that have not started
	endsAfter    time.Duration
	freed        map[types.UID]int64 // memory that comes back
	hang         time.Duration       // of the removal of containers
	warnings     int
	changes      int
	log          []string
}

func (w *world) say(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%s "+format, append([]any{time.Since(w.began)}, args...)...))
}

func (w *world) measure(context.Context) (Measured, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Measured{
		Memory: &statsapi.MemoryStats{AvailableBytes: new(uint64(w.memory)), WorkingSetBytes: new(uint64(1000 - w.memory))},
		Node:   &statsapi.FsStats{AvailableBytes: new(uint64(w.disk)), CapacityBytes: new(uint64(1000))},
	}, w.fails
}

func (w *world) usage(_ context.Context, fresh func(string) bool) ([]statsapi.PodStats, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []statsapi.PodStats
	for uid, st := range w.stats {
		if fresh != nil && w.ending[uid].IsZero() && fresh(string(uid)) != limited(w.pod(uid)) {
			w.t.Errorf("%s is measured anew, or is not", uid)
		}
		out = append(out, *st)
	}
	return out, w.lost
}

func (w *world) pod(uid types.UID) *v1.Pod {
	return w.pods[slices.IndexFunc(w.pods, func(p *v1.Pod) bool { return p.UID == uid })]
}

// Active implements Pods.
func (w *world) Active(grace func(*v1.Pod) int64) []*v1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.pods), func(p *v1.Pod) bool { return !w.ending[p.UID].IsZero() && w.graces[p.UID] <= grace(p) })
}

// leave begins the termination of a pod.
func (w *world) leave(uid types.UID, grace int64, after time.Duration) {
	w.ending[uid], w.graces[uid] = time.Now().Add(after), grace
}

// Evict implements Pods.
func (w *world) Evict(_ context.Context, pod *v1.Pod, o Order) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.say("evict %s grace %d disrupted %t", pod.Name, o.Grace, o.Disrupted)
	if !strings.HasSuffix(o.Message, ". ") || o.Decision.By != trace.ByEviction || o.Decision.Code != "Evicted" {
		w.t.Errorf("order %+v", o)
	}
	w.leave(pod.UID, o.Grace, w.endsAfter)
	time.AfterFunc(w.endsAfter-time.Millisecond, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.memory += w.freed[pod.UID]
	})
}

// Ended implements Pods.
func (w *world) Ended(uid types.UID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !time.Now().Before(w.ending[uid])
}

// Empty implements Pods.
func (w *world) Empty(uid types.UID) bool { return w.empty[uid] }

// Containers implements Reclaimer.
func (w *world) Containers(context.Context) (int, int64, error) {
	time.Sleep(w.hang)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.say("remove containers")
	return 1, 0, nil
}

// Images implements Reclaimer.
func (w *world) Images(context.Context) (int, int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.say("remove images")
	w.disk += w.garbage
	return 2, w.garbage, nil
}

func (w *world) add(p *v1.Pod, memory uint64) *v1.Pod {
	w.pods = append(w.pods, p)
	w.stats[p.UID] = uses(p, memory, memory, 0, 0, 1)
	w.freed[p.UID] = int64(memory)
	return p
}

// run runs a manager for a time of which 1 ms is left out, so that nothing is due at its end.
func run(t *testing.T, d time.Duration, change func(*world, *Config), during ...func(*world, *Manager)) (*world, *tracetest.Recorder) {
	t.Helper()
	rec := tracetest.New(t)
	w := &world{
		t: t, began: time.Now(), stall: make(chan struct{}), memory: 500, disk: 500, endsAfter: 2 * time.Second,
		stats: map[types.UID]*statsapi.PodStats{}, ending: map[types.UID]time.Time{}, graces: map[types.UID]int64{}, freed: map[types.UID]int64{},
	}
	thresholds, err := Parse(Settings{
		Hard:      map[string]string{"memory.available": "100", "nodefs.available": "10%"},
		Soft:      map[string]string{"memory.available": "200"},
		SoftGrace: map[string]string{"memory.available": "30s"},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := Config{
		Thresholds: thresholds, Transition: 5 * time.Minute, MaxGrace: 20, Isolation: true,
		Measure: w.measure, Usage: w.usage, Pods: w, Reclaimer: w, Stalled: w.stall, Bus: rec.Bus(),
		Changed: func() { w.changes++ }, Warn: func(_ context.Context, reason, _ string) {
			if w.warnings++; reason != "EvictionThresholdMet" {
				t.Errorf("event %s", reason)
			}
		},
	}
	change(w, &c)
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), d-time.Millisecond)
	defer cancel()
	done := make(chan error)
	go func() { done <- m.Run(ctx) }()
	for _, f := range during {
		f(w, m)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	return w, rec
}

func logged(t *testing.T, w *world, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, w.log); d != "" {
		t.Error(d)
	}
}

// One pod after another goes, each when the one before has ended, until there is enough memory.
func TestHard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, rec := run(t, 30*time.Second, func(w *world, _ *Config) {
			w.memory = 20
			critical := w.add(aPod("critical", 2_000_000_000), 900)
			critical.Annotations = map[string]string{"kubernetes.io/config.source": "api"}
			w.freed[w.add(aPod("small", 0), 50).UID] = 300
			w.add(aPod("big", 0), 60)
			w.add(aPod("within", 0, "memory", "500"), 400)
			w.add(aPod("other", 5), 80)
		}, func(_ *world, m *Manager) {
			time.Sleep(time.Second)
			if !m.Under(v1.NodeMemoryPressure) || m.Under(v1.NodeDiskPressure) || !m.Evicting() {
				t.Error("the node's conditions")
			}
		})
		logged(t, w, "0s evict big grace 1 disrupted true", "2s evict small grace 1 disrupted true")
		rounds := tracetest.Events[trace.Eviction](rec)
		if len(rounds) != 2 || rounds[0].Evicted != "ns/big" || rounds[0].Available != 20 || rounds[0].Outcome != trace.EvictionEvicted || len(rounds[0].Ranked) != 5 ||
			rounds[0].Ranked[3].Pod != "ns/critical" || !rounds[0].Ranked[3].Spared || rounds[0].Threshold.Bytes != 100 {
			t.Errorf("rounds %+v", rounds)
		}
		if w.changes != 1 || w.warnings != 2 {
			t.Errorf("%d changes, %d events", w.changes, w.warnings)
		}
	})
}

// A pod that has not started uses nothing: another one goes. One that runs, and of which the runtime does not tell what it uses, goes first.
func TestNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, rec := run(t, 4*time.Second, func(w *world, _ *Config) {
			w.memory = 20
			w.add(aPod("uses", 0), 60)
			for _, name := range []string{"new", "unknown"} {
				p := w.add(aPod(name, 0, "memory", "100"), 0)
				delete(w.stats, p.UID)
			}
			w.empty = map[types.UID]bool{"u-new": true}
			w.freed["u-uses"] = 300
		})
		logged(t, w, "0s evict unknown grace 1 disrupted true", "2s evict uses grace 1 disrupted true")
		if r := tracetest.Events[trace.Eviction](rec); !r[0].Ranked[0].Unknown || r[0].Ranked[2].Pod != "ns/new" || r[0].Ranked[2].Unknown {
			t.Errorf("%+v", r[0].Ranked)
		}
	})
}

// A pod that does not end holds up the next one for its grace period and 30 s.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := run(t, 40*time.Second, func(w *world, _ *Config) {
			w.memory, w.endsAfter = 20, time.Hour
			w.add(aPod("a", 0), 60)
			w.add(aPod("b", 0), 50)
		})
		logged(t, w, "0s evict a grace 1 disrupted true", "31s evict b grace 1 disrupted true")
	})
}

// A pod that is terminating is evicted like others, if it then ends sooner.
func TestTerminating(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, rec := run(t, 3*time.Second, func(w *world, _ *Config) {
			w.memory = 20
			w.add(aPod("stays", 0), 60)
			w.leave(w.add(aPod("slow", 0), 70).UID, 30, time.Hour)
			w.leave(w.add(aPod("quick", 0), 80).UID, 1, time.Hour)
			w.freed["u-slow"] = 300
		})
		logged(t, w, "0s evict slow grace 1 disrupted true")
		if r := tracetest.Events[trace.Eviction](rec); len(r) != 1 || len(r[0].Ranked) != 2 {
			t.Errorf("%+v", r)
		}
	})
	// Over its limit of local storage.
	synctest.Test(t, func(t *testing.T) {
		w, _ := run(t, 25*time.Second, func(w *world, _ *Config) {
			for name, grace := range map[string]int64{"slow": 30, "quick": 1} {
				p := w.add(aPod(name, 0), 101)
				p.Spec.Containers[0].Resources.Limits = v1.ResourceList{"ephemeral-storage": resource.MustParse("100")}
				w.leave(p.UID, grace, time.Hour)
			}
		})
		logged(t, w, "0s evict slow grace 1 disrupted false")
	})
	// A soft eviction is not repeated, but a hard one shortens its grace period.
	synctest.Test(t, func(t *testing.T) {
		w, _ := run(t, 130*time.Second, func(w *world, _ *Config) {
			w.memory, w.endsAfter = 150, time.Hour
			w.add(aPod("a", 0), 60)
		}, func(w *world, _ *Manager) {
			time.Sleep(111 * time.Second) // between two looks
			w.mu.Lock()
			defer w.mu.Unlock()
			w.memory = 20
		})
		logged(t, w, "30s evict a grace 20 disrupted true", "1m53s evict a grace 1 disrupted true")
	})
}

// While a pod ends for a soft threshold, the node is watched: its conditions change, and a hard threshold does not wait for the end.
func TestHardDuringSoft(t *testing.T) {
	for name, c := range map[string]struct {
		memory, disk int64
		disks        bool // there is pressure on disks, too
		want         []string
	}{
		"less memory":                 {memory: 20, disk: 500, want: []string{"39s evict a grace 1 disrupted true"}},
		"still above the threshold":   {memory: 110, disk: 500},
		"the disk while memory lasts": {memory: 150, disk: 50, disks: true}, // memory first
		"the disk, and enough memory": {memory: 500, disk: 50, disks: true, want: []string{
			"39s remove containers", "39s remove images", "39s evict a grace 1 disrupted true",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _ := run(t, 45*time.Second, func(w *world, _ *Config) {
					w.memory, w.endsAfter = 150, time.Hour
					w.add(aPod("a", 0), 60)
				}, func(w *world, m *Manager) {
					time.Sleep(37 * time.Second) // it ends since 30 s
					w.mu.Lock()
					w.memory, w.disk = c.memory, c.disk
					w.mu.Unlock()
					time.Sleep(3 * time.Second)
					if m.Under(v1.NodeDiskPressure) != c.disks {
						t.Error("the condition about disks")
					}
				})
				logged(t, w, append([]string{"30s evict a grace 20 disrupted true"}, c.want...)...)
			})
		})
	}
}

// A soft threshold waits for its grace period, and gives the pod its own, up to a limit.
func TestSoft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, rec := run(t, 60*time.Second, func(w *world, _ *Config) {
			w.memory = 150
			w.add(aPod("long", 0), 60).Spec.TerminationGracePeriodSeconds = new(int64(600))
			w.add(aPod("short", 0), 50).Spec.TerminationGracePeriodSeconds = new(int64(3))
		})
		logged(t, w, "30s evict long grace 20 disrupted true")
		var verdicts []string
		for _, d := range tracetest.Events[trace.Decision](rec) {
			verdicts = append(verdicts, fmt.Sprint(d.Subject, " ", d.Verdict, " ", d.Reason, " ", d.Limit))
		}
		if d := cmp.Diff([]string{"memory short there is less than 200 B free for 30.0s 200", "memory enough there is more than 200 B free for 30.0s 200"}, verdicts); d != "" {
			t.Error(d)
		}
	})
}

// Containers and images that no pod uses go first; if that is enough, no pod has to.
func TestReclaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, rec := run(t, 15*time.Second, func(w *world, _ *Config) {
			w.disk, w.garbage = 90, 100
			w.add(aPod("a", 0), 60)
		})
		logged(t, w, "0s remove containers", "0s remove images")
		if r := tracetest.Events[trace.Eviction](rec); len(r) != 1 || r[0].Outcome != trace.EvictionReclaimed || r[0].Freed != 100 || r[0].Containers != 1 || r[0].Images != 2 {
			t.Errorf("%+v", r)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w, _ := run(t, 3*time.Second, func(w *world, c *Config) {
			w.disk, w.garbage = 50, 1
			w.add(aPod("a", 0), 60)
			w.add(aPod("b", 0), 70)
		})
		logged(t, w, "0s remove containers", "0s remove images", "0s evict b grace 1 disrupted true", "2s remove containers", "2s remove images", "2s evict a grace 1 disrupted true")
	})
}

// A removal that hangs holds up a round for a while, and no other is begun meanwhile; a pod that has to go for something else does not wait
// for it.
func TestHungRemoval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, rec := run(t, 80*time.Second, func(w *world, _ *Config) {
			w.disk, w.hang = 90, time.Minute
			w.add(aPod("critical", 2_000_000_000), 60)
			w.add(aPod("a", 0), 60)
		}, func(w *world, _ *Manager) {
			time.Sleep(31 * time.Second)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.disk, w.memory = 500, 20
			w.add(aPod("b", 0), 100)
		})
		logged(t, w, "30s evict a grace 1 disrupted true", "32s evict b grace 1 disrupted true", "1m0s remove containers", "1m0s remove images")
		if r := tracetest.Events[trace.Eviction](rec); r[0].Err != errRemoving.Error() {
			t.Errorf("%+v", r)
		}
	})
}

// A pod over its limit of local storage goes, whatever the node has; a critical one stays.
func TestLimits(t *testing.T) {
	limit := func(p *v1.Pod) *v1.Pod {
		p.Spec.Containers[0].Resources.Limits = v1.ResourceList{"ephemeral-storage": resource.MustParse("100")}
		return p
	}
	synctest.Test(t, func(t *testing.T) {
		w, _ := run(t, 25*time.Second, func(w *world, _ *Config) {
			w.add(limit(aPod("over", 0)), 101)
			w.add(limit(aPod("within", 0)), 100)
			w.add(limit(aPod("critical", 2_000_000_000)), 500)
			w.add(aPod("unlimited", 0), 500)
		})
		logged(t, w, "0s evict over grace 1 disrupted false")
	})
	synctest.Test(t, func(t *testing.T) {
		w, _ := run(t, 25*time.Second, func(w *world, c *Config) {
			c.Isolation = false
			w.add(limit(aPod("over", 0)), 101)
		})
		logged(t, w)
	})
}

// The kernel's notification starts a round at once, but at most one a second.
func TestStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, rec := run(t, 9*time.Second, func(w *world, _ *Config) { w.add(aPod("a", 0), 60) }, func(w *world, _ *Manager) {
			time.Sleep(2500 * time.Millisecond)
			w.mu.Lock()
			w.memory = 20
			w.mu.Unlock()
			w.stall <- struct{}{}
			synctest.Wait()
			for range 3 {
				select {
				case w.stall <- struct{}{}:
				case <-time.After(100 * time.Millisecond):
				}
			}
		})
		logged(t, w, "2.5s evict a grace 1 disrupted true")
		if n := len(tracetest.Events[trace.Pressure](rec)); n > 12 {
			t.Errorf("%d figures in 9 s", n)
		}
	})
}

// watcher is a Watcher whose notifications tests send.
type watcher struct {
	c     chan struct{}
	marks [][]Mark
}

// Set implements Watcher.
func (w *watcher) Set(marks []Mark) { w.marks = append(w.marks, marks) }

// C implements Watcher.
func (w *watcher) C() <-chan struct{} { return w.c }

// When memory crosses a threshold, a round begins at once, but not more than ten in a second.
func TestCrossed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &watcher{c: make(chan struct{})}
		w, _ := run(t, 5*time.Second, func(w *world, c *Config) {
			c.Watcher = seen
			w.add(aPod("a", 0), 60)
		}, func(w *world, _ *Manager) {
			time.Sleep(500 * time.Millisecond)
			w.mu.Lock()
			w.memory = 20
			w.mu.Unlock()
			seen.c <- struct{}{}
		})
		logged(t, w, "500ms evict a grace 1 disrupted true")
		if d := cmp.Diff([]Mark{{trace.SignalMemory, 400}, {trace.SignalMemory, 300}}, seen.marks[0]); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]Mark{{trace.SignalMemory, -80}, {trace.SignalMemory, -180}}, seen.marks[1]); d != "" {
			t.Error(d)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		seen := &watcher{c: make(chan struct{})}
		run(t, time.Second, func(_ *world, c *Config) { c.Watcher = seen }, func(*world, *Manager) {
			for end := time.After(time.Second); ; {
				select {
				case seen.c <- struct{}{}:
				case <-end:
					return
				}
			}
		})
		if n := len(seen.marks); n != 10 {
			t.Errorf("%d rounds in a second", n)
		}
	})
}

// orders are the decisions about pods that exceed a limit.
type orders struct {
	*world
	all map[string]trace.Decision
}

// Evict implements Pods.
func (o orders) Evict(ctx context.Context, pod *v1.Pod, order Order) {
	o.world.Evict(ctx, pod, order)
	o.all[pod.Name] = order.Decision
}

// The decision about a volume says whether its usage is the file system's or that of a scan.
func TestMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := orders{all: map[string]trace.Decision{}}
		run(t, time.Second, func(w *world, c *Config) {
			got.world, c.Pods = w, &got
			c.Counted = func(pod *v1.Pod, v *v1.Volume) bool { return pod.Name == "counted" && v.Name == "v" }
			for _, name := range []string{"counted", "scanned", "layer"} {
				p := aPod(name, 0)
				if w.stats[p.UID] = uses(p, 0, 0, 0, 200, 1); name == "layer" {
					p.Spec.Containers[0].Resources.Limits = v1.ResourceList{"ephemeral-storage": resource.MustParse("100")}
				} else {
					p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("100"))}}}}
				}
				w.pods = append(w.pods, p)
			}
		})
		for name, want := range map[string]trace.UsageSource{"counted": trace.MeasuredByQuota, "scanned": trace.MeasuredByScan, "layer": ""} {
			d, ok := got.all[name]
			if told := slices.Contains(d.Inputs, trace.KV{K: "measured by", V: string(want)}); !ok || d.Measured != want || told != (want != "") {
				t.Errorf("%s: %t, %+v", name, ok, d)
			}
		}
	})
}

// With the simulated runtime, nothing is ended.
func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := run(t, 15*time.Second, func(w *world, c *Config) {
			c.Observe, c.Pods, c.Reclaimer, c.Usage = true, nil, nil, nil
			w.memory, w.disk = 1, 1
		}, func(_ *world, m *Manager) {
			time.Sleep(time.Second)
			if !m.Under(v1.NodeMemoryPressure) || !m.Under(v1.NodeDiskPressure) {
				t.Error("the conditions must be true")
			}
		})
		logged(t, w)
	})
}

// What cannot be measured is said once, and ends no pod.
func TestUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, rec := run(t, 35*time.Second, func(w *world, _ *Config) {
			w.memory, w.lost, w.fails = 20, errors.New("no answer"), errors.New("no runtime")
			w.add(aPod("a", 0), 60)
		})
		logged(t, w)
		if l := tracetest.Events[trace.Log](rec); len(l) != 1 || l[0].Message != "eviction: cannot measure the node: no runtime" {
			t.Errorf("%+v", l)
		}
		if r := tracetest.Events[trace.Eviction](rec); len(r) != 4 || r[0].Outcome != trace.EvictionNone || r[0].Err != "no answer" {
			t.Errorf("%+v", r)
		}
	})
}

// While little is left, one round a minute says who would go first.
func TestForesee(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, rec := run(t, 65*time.Second, func(w *world, _ *Config) {
			w.disk = 140
			w.add(aPod("a", 0), 60)
			w.add(aPod("b", 0), 70)
		})
		logged(t, w)
		r := tracetest.Events[trace.Eviction](rec)
		if len(r) != 2 || r[0].Outcome != trace.EvictionNear || r[0].Signal != trace.SignalNodeFS || r[0].Ranked[0].Pod != "ns/b" || r[0].Evicted != "" {
			t.Errorf("%+v", r)
		}
	})
}

// While little is left, the node is measured every second, so that a pod goes as soon as there is too little.
func TestNear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, rec := run(t, 30*time.Second, func(w *world, _ *Config) {
			w.memory, w.disk = 500, 140
			w.add(aPod("a", 0), 60)
		}, func(w *world, _ *Manager) {
			time.Sleep(13500 * time.Millisecond)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.disk = 90
		})
		logged(t, w, "14s remove containers", "14s remove images", "14s evict a grace 1 disrupted true", "16s remove containers", "16s remove images", "25s remove containers", "25s remove images")
		if n := len(tracetest.Events[trace.Pressure](rec)); n > 10 {
			t.Errorf("%d figures in 30 s", n)
		}
	})
}

// Nobody can go: the round says so.
func TestNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, rec := run(t, 5*time.Second, func(w *world, _ *Config) {
			w.memory = 20
			w.add(aPod("critical", 2_000_000_000), 900)
		})
		if r := tracetest.Events[trace.Eviction](rec); len(r) != 1 || r[0].Outcome != trace.EvictionNone || len(r[0].Ranked) != 1 {
			t.Errorf("%+v", r)
		}
	})
}

func TestNewRejects(t *testing.T) {
	if _, err := New(Config{Measure: func(context.Context) (Measured, error) { return Measured{}, nil }}); err == nil {
		t.Error("no error without pods")
	}
}
