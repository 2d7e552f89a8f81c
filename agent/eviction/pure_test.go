package eviction

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// quantity is an amount that was configured as a number.
func quantity(n int64) Amount { return Amount{Quantity: *resource.NewQuantity(n, resource.DecimalSI)} }

func TestParse(t *testing.T) {
	got, err := Parse(Settings{
		Hard: map[string]string{"memory.available": "100Mi", "nodefs.available": "10%", "pid.available": "0%"},
		Soft: map[string]string{"memory.available": "200Mi"}, SoftGrace: map[string]string{"memory.available": "1m30s"},
		MinimumReclaim: map[string]string{"memory.available": "50Mi", "nodefs.available": "1%"},
		Allocatable:    true,
	})
	reclaim := quantity(50 << 20)
	want := []Threshold{
		{Signal: trace.SignalMemory, Free: quantity(100 << 20), Reclaim: reclaim},
		{Signal: trace.SignalMemory, Free: quantity(200 << 20), Reclaim: reclaim, Grace: 90 * time.Second},
		{Signal: trace.SignalAllocatable, Free: quantity(100 << 20), Reclaim: reclaim},
		{Signal: trace.SignalNodeFS, Free: Amount{Percent: 10}, Reclaim: Amount{Percent: 1}},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	for text, s := range map[string]Settings{
		`evictionHard["memory.available"]: "x" must be a quantity such as 100Mi, or a percentage`:            {Hard: map[string]string{"memory.available": "x"}},
		`evictionHard["imagefs.inodesFree"]: "101%" must be between 0% and 100%`:                             {Hard: map[string]string{"imagefs.inodesFree": "101%"}},
		`evictionSoftGracePeriod["pid.available"]: "" must be a duration such as 1m30s`:                      {Soft: map[string]string{"pid.available": "5"}},
		`evictionMinimumReclaim["nodefs.available"]: "-1" must be a quantity such as 100Mi, or a percentage`: {MinimumReclaim: map[string]string{"nodefs.available": "-1"}},
	} {
		if _, err := Parse(s); err == nil || err.Error() != text {
			t.Errorf("error %v, want %s", err, text)
		}
	}
}

// A percentage that turns a threshold off is an amount like others if it is the minimum reclaim.
func TestParseReclaim(t *testing.T) {
	for text, want := range map[string]float64{"100%": 100, "150%": 150} {
		got, err := Parse(Settings{Hard: map[string]string{"nodefs.available": "10%"}, MinimumReclaim: map[string]string{"nodefs.available": text}})
		if d := cmp.Diff([]Threshold{{Signal: trace.SignalNodeFS, Free: Amount{Percent: 10}, Reclaim: Amount{Percent: want}}}, got); d != "" || err != nil {
			t.Error(d, err)
		}
	}
}

// containerfs has the thresholds of the file system that it is on.
func TestLayoutThresholds(t *testing.T) {
	hard := func(s trace.Signal, n int64) Threshold { return Threshold{Signal: s, Free: quantity(n)} }
	all := []Threshold{hard(trace.SignalNodeFS, 1), hard(trace.SignalImageFS, 2), hard(trace.SignalImageFSInodes, 3), hard(trace.SignalContainerFS, 9)}
	for l, added := range map[Layout][]Threshold{
		OneFS:   {hard(trace.SignalContainerFS, 1)},
		SplitFS: {hard(trace.SignalContainerFS, 1)},
		ImageFS: {hard(trace.SignalContainerFS, 2), hard(trace.SignalContainerFSInodes, 3)},
	} {
		if d := cmp.Diff(append(all[:3:3], added...), l.thresholds(all)); d != "" {
			t.Errorf("layout %d: %s", l, d)
		}
	}
}

func TestLayoutParts(t *testing.T) {
	type row struct {
		layout Layout
		signal trace.Signal
		parts  parts
		frees  reclaim
	}
	all, none := parts{true, true, true}, parts{}
	for _, r := range []row{
		{OneFS, trace.SignalNodeFS, all, reclaim{true, true}},
		{OneFS, trace.SignalImageFSInodes, all, reclaim{true, true}},
		{OneFS, trace.SignalContainerFS, all, reclaim{true, true}},
		{ImageFS, trace.SignalNodeFS, parts{logs: true, volumes: true}, reclaim{}},
		{ImageFS, trace.SignalImageFS, parts{layers: true}, reclaim{true, true}},
		{ImageFS, trace.SignalContainerFSInodes, parts{layers: true}, reclaim{true, true}},
		{SplitFS, trace.SignalNodeFS, all, reclaim{containers: true}},
		{SplitFS, trace.SignalImageFS, none, reclaim{images: true}},
		{SplitFS, trace.SignalContainerFS, all, reclaim{containers: true}},
		{OneFS, trace.SignalMemory, all, reclaim{}},
		{OneFS, trace.SignalPID, all, reclaim{}},
	} {
		if got := r.layout.parts(r.signal); got != r.parts && resourceOf(r.signal) != v1.ResourceMemory && r.signal != trace.SignalPID {
			t.Errorf("layout %d, %s: parts %+v, want %+v", r.layout, r.signal, got, r.parts)
		}
		if got := r.layout.reclaim(r.signal); got != r.frees {
			t.Errorf("layout %d, %s: reclaims %+v, want %+v", r.layout, r.signal, got, r.frees)
		}
	}
}

func TestJudge(t *testing.T) {
	t0 := time.Unix(1000, 0)
	all := []Threshold{
		{Signal: trace.SignalMemory, Free: quantity(100), Reclaim: quantity(50)},
		{Signal: trace.SignalMemory, Free: quantity(200), Grace: 30 * time.Second},
		{Signal: trace.SignalNodeFS, Free: Amount{Percent: 10}},
	}
	j := newJudge(len(all))
	for i, step := range []struct {
		at           time.Duration
		memory, disk int64 // disk -1: unknown
		act          []int
		conditions   []v1.NodeConditionType
	}{
		{0, 300, 500, nil, nil},
		{10 * time.Second, 150, 500, nil, []v1.NodeConditionType{v1.NodeMemoryPressure}}, // soft, in its grace period
		{30 * time.Second, 150, 500, nil, []v1.NodeConditionType{v1.NodeMemoryPressure}},
		{40 * time.Second, 150, 99, []int{1, 2}, []v1.NodeConditionType{v1.NodeDiskPressure, v1.NodeMemoryPressure}},
		{50 * time.Second, 99, -1, []int{0, 1}, []v1.NodeConditionType{v1.NodeDiskPressure, v1.NodeMemoryPressure}},
		{60 * time.Second, 149, 500, []int{0, 1}, []v1.NodeConditionType{v1.NodeDiskPressure, v1.NodeMemoryPressure}}, // above hard, not above its reclaim
		{70 * time.Second, 250, 500, nil, []v1.NodeConditionType{v1.NodeDiskPressure, v1.NodeMemoryPressure}},         // the transition period
		{39*time.Second + 5*time.Minute, 250, 500, nil, []v1.NodeConditionType{v1.NodeDiskPressure, v1.NodeMemoryPressure}},
		{40*time.Second + 5*time.Minute, 250, 500, nil, []v1.NodeConditionType{v1.NodeMemoryPressure}},
		{60*time.Second + 5*time.Minute, 250, 500, nil, nil},
		{70*time.Second + 5*time.Minute, 150, 500, nil, []v1.NodeConditionType{v1.NodeMemoryPressure}}, // the grace period begins again
	} {
		seen := observations{trace.SignalMemory: {step.memory, 1000}, trace.SignalNodeFS: {step.disk, 1000}}
		if step.disk < 0 {
			delete(seen, trace.SignalNodeFS)
		}
		now := t0.Add(step.at)
		act := j.judge(all, seen, now)
		if d := cmp.Diff(step.act, act) + cmp.Diff(step.conditions, j.conditions(5*time.Minute, now)); d != "" {
			t.Errorf("step %d: %s", i, d)
		}
	}
}

// aPod has a priority, and requests of a container "c".
func aPod(name string, priority int32, requests ...string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("u-" + name)}, Spec: v1.PodSpec{Priority: &priority, Containers: []v1.Container{{Name: "c"}}}}
	for i := 0; i+1 < len(requests); i += 2 {
		if p.Spec.Containers[0].Resources.Requests == nil {
			p.Spec.Containers[0].Resources.Requests = v1.ResourceList{}
		}
		p.Spec.Containers[0].Resources.Requests[v1.ResourceName(requests[i])] = resource.MustParse(requests[i+1])
	}
	return p
}

func fs(bytes, nodes uint64) *statsapi.FsStats {
	return &statsapi.FsStats{UsedBytes: &bytes, InodesUsed: &nodes}
}

// uses are figures of a pod of aPod.
func uses(p *v1.Pod, memory, layer, logs, volume, processes uint64) *statsapi.PodStats {
	mem := &statsapi.MemoryStats{WorkingSetBytes: &memory}
	return &statsapi.PodStats{
		PodRef: statsapi.PodReference{UID: string(p.UID)}, Memory: mem, ProcessStats: &statsapi.ProcessStats{ProcessCount: &processes},
		Containers:       []statsapi.ContainerStats{{Name: "c", Memory: mem, Rootfs: fs(layer, 1), Logs: fs(logs, 2)}},
		VolumeStats:      []statsapi.VolumeStats{{Name: "v", FsStats: *fs(volume, 7)}},
		EphemeralStorage: fs(layer+logs+volume, 10),
	}
}

func TestRank(t *testing.T) {
	type use struct{ memory, layer, logs, volume, processes uint64 }
	pods := map[string]struct {
		pod *v1.Pod
		use *use
	}{
		"guaranteed": {aPod("guaranteed", 0, "memory", "1000", "ephemeral-storage", "1000"), &use{900, 10, 10, 10, 3}},
		"over":       {aPod("over", 0, "memory", "100", "ephemeral-storage", "50"), &use{300, 60, 0, 0, 90}},
		"best":       {aPod("best", 0), &use{150, 0, 30, 0, 5}},
		"important":  {aPod("important", 10), &use{5000, 5000, 0, 0, 500}},
		"unknown":    {aPod("unknown", 20), nil},
		"low":        {aPod("low", -5), &use{1, 0, 0, 1, 1}},
	}
	for _, c := range []struct {
		signal trace.Signal
		layout Layout
		want   []string
	}{
		{trace.SignalMemory, OneFS, []string{"unknown", "low", "over", "best", "important", "guaranteed"}},
		{trace.SignalNodeFS, OneFS, []string{"unknown", "low", "best", "over", "important", "guaranteed"}},
		{trace.SignalNodeFS, ImageFS, []string{"unknown", "low", "best", "over", "guaranteed", "important"}},
		{trace.SignalImageFS, ImageFS, []string{"unknown", "over", "important", "low", "best", "guaranteed"}},
		{trace.SignalPID, OneFS, []string{"low", "over", "best", "guaranteed", "important", "unknown"}},
	} {
		var list []*v1.Pod
		stats := map[string]*statsapi.PodStats{}
		for _, p := range pods {
			p.pod.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
			list = append(list, p.pod)
			if u := p.use; u != nil {
				stats[string(p.pod.UID)] = uses(p.pod, u.memory, u.layer, u.logs, u.volume, u.processes)
			}
		}
		var got []string
		for _, r := range rank(c.signal, c.layout, list, stats) {
			got = append(got, r.pod.Name)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s, layout %d: %s", c.signal, c.layout, d)
		}
	}
}

// What a pod has in memory is not on the disk that is full.
func TestDiskOf(t *testing.T) {
	for name, c := range map[string]struct {
		source v1.VolumeSource
		want   int64
	}{
		"emptyDir":           {v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}, 100},
		"configMap":          {v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}, 100},
		"gitRepo":            {v1.VolumeSource{GitRepo: &v1.GitRepoVolumeSource{}}, 100},
		"hostPath":           {v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{}}, 100},
		"emptyDir in memory": {v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory}}, 0},
		"huge pages":         {v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumHugePages}}, 0},
		"secret":             {v1.VolumeSource{Secret: &v1.SecretVolumeSource{}}, 0},
		"projected":          {v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{}}, 0},
		"downwardAPI":        {v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{}}, 0},
		"claim":              {v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{}}, 0},
	} {
		pod := aPod("p", 0)
		pod.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: c.source}}
		if got := diskOf(trace.SignalNodeFS, parts{volumes: true}, pod, uses(pod, 0, 1, 2, 100, 0)); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestRequestOf(t *testing.T) {
	change := func(p *v1.Pod, f func(*v1.PodSpec)) *v1.Pod { f(&p.Spec); return p }
	overhead := func(s *v1.PodSpec) {
		s.Overhead = v1.ResourceList{"memory": resource.MustParse("70"), "ephemeral-storage": resource.MustParse("30")}
	}
	own := func(s *v1.PodSpec) {
		s.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{"memory": resource.MustParse("500")}}
	}
	for name, c := range map[string]struct {
		pod          *v1.Pod
		memory, disk int64
	}{
		"nothing":                  {aPod("p", 0), 0, 0},
		"of a container":           {aPod("p", 0, "memory", "100", "ephemeral-storage", "10"), 100, 10},
		"overhead only":            {change(aPod("p", 0), overhead), 0, 0},
		"overhead of memory":       {change(aPod("p", 0, "memory", "100"), overhead), 170, 0},
		"overhead of both":         {change(aPod("p", 0, "memory", "100", "ephemeral-storage", "10"), overhead), 170, 40},
		"of the pod":               {change(aPod("p", 0, "memory", "100", "ephemeral-storage", "10"), own), 500, 0},
		"of the pod with overhead": {change(change(aPod("p", 0, "ephemeral-storage", "10"), own), overhead), 570, 0},
	} {
		if m, d := requestOf(trace.SignalAllocatable, c.pod), requestOf(trace.SignalNodeFS, c.pod); m != c.memory || d != c.disk {
			t.Errorf("%s: %d and %d, want %d and %d", name, m, d, c.memory, c.disk)
		}
		if n := requestOf(trace.SignalNodeFSInodes, c.pod) + requestOf(trace.SignalPID, c.pod); n != 0 {
			t.Errorf("%s: %d inodes or process ids", name, n)
		}
	}
}

// The messages are those of upstream's kubelet: tools match them.
func TestMessage(t *testing.T) {
	pod := aPod("web", 0, "memory", "64Mi")
	r := &ranked{pod: pod, stats: uses(pod, 100<<20, 3<<20, 1<<20, 0, 4)}
	hard := &Threshold{Signal: trace.SignalMemory, Free: Amount{Quantity: resource.MustParse("100Mi")}}
	text, notes := message(hard, observation{50 << 20, 1 << 30}, r)
	want := "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. Container c was using 100Mi, request is 64Mi, has larger consumption of memory. "
	if text != want {
		t.Errorf("got  %q\nwant %q", text, want)
	}
	if d := cmp.Diff(map[string]string{"offending_containers": "c", "offending_containers_usage": "100Mi", "starved_resource": "memory"}, notes); d != "" {
		t.Error(d)
	}
	disk := &Threshold{Signal: trace.SignalNodeFS, Free: Amount{Percent: 10}}
	if text, _ = message(disk, observation{5 << 20, 100 << 20}, r); text != "The node was low on resource: ephemeral-storage. Threshold quantity: 10Mi, available: 5Mi. Container c was using 4Mi, request is 0, has larger consumption of ephemeral-storage. " {
		t.Errorf("disk: %q", text)
	}
	node := &Threshold{Signal: trace.SignalPID, Free: quantity(1000)}
	if text, _ = message(node, observation{10, 32768}, r); text != "The node was low on resource: pids. Threshold quantity: 1k, available: 10. " {
		t.Errorf("pids: %q", text)
	}
	pod.Spec.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{"memory": resource.MustParse("32Mi")}}
	if text, notes = message(hard, observation{0, 1}, r); notes["offending_pod"] != "web" || notes["offending_pod_usage"] != "100Mi" {
		t.Errorf("pod level: %q, %v", text, notes)
	}
	if _, notes = message(hard, observation{0, 1}, &ranked{pod: pod}); len(notes) != 0 {
		t.Errorf("unknown usage: %v", notes)
	}
	// Only containers that can request something are to blame.
	pod.Spec.Resources, pod.Spec.InitContainers, pod.Spec.Containers = nil, pod.Spec.Containers, nil
	if text, _ = message(hard, observation{50 << 20, 1 << 30}, r); text != want {
		t.Errorf("init container: %q", text)
	}
	pod.Spec.InitContainers, pod.Spec.EphemeralContainers = nil, []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "c"}}}
	if text, notes = message(hard, observation{50 << 20, 1 << 30}, r); text != "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. " || notes["offending_containers"] != "" {
		t.Errorf("ephemeral container: %q, %v", text, notes)
	}
}

// A configured quantity keeps its format in messages; a percentage has upstream's precision and binary units.
func TestAmount(t *testing.T) {
	for _, c := range []struct {
		signal, config string
		capacity, of   int64
		text           string
	}{
		{"memory.available", "1G", 8 << 30, 1e9, "1G"},
		{"memory.available", "1024Mi", 8 << 30, 1 << 30, "1Gi"},
		{"memory.available", "104857600", 8 << 30, 100 << 20, "104857600"},
		{"memory.available", "1e3", 8 << 30, 1000, "1e3"},
		{"nodefs.available", "10%", 100 << 30, 10737418400, "10737418400"},
		{"nodefs.available", "12.5%", 100 << 30, 12800 << 20, "12800Mi"},
		{"nodefs.inodesFree", "5%", 6553600, 327680, "320Ki"},
		{"nodefs.inodesFree", "2000", 6553600, 2000, "2k"},
	} {
		all, err := Parse(Settings{Hard: map[string]string{c.signal: c.config}})
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		if of, text := all[0].Free.of(c.capacity), all[0].Free.text(c.capacity); of != c.of || text != c.text {
			t.Errorf("%s %s of %d: %d, %q, want %d, %q", c.signal, c.config, c.capacity, of, text, c.of, c.text)
		}
	}
	for _, none := range []string{"0", "0%", "100%"} {
		if all, err := Parse(Settings{Hard: map[string]string{"memory.available": none}}); err != nil || len(all) != 0 {
			t.Errorf("%s: %+v, %v", none, all, err)
		}
	}
}

func TestExceeds(t *testing.T) {
	limit := func(p *v1.Pod, n string) *v1.Pod {
		p.Spec.Containers[0].Resources.Limits = v1.ResourceList{"ephemeral-storage": resource.MustParse(n)}
		return p
	}
	volume := func(p *v1.Pod, medium v1.StorageMedium, n string) *v1.Pod {
		p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: medium, SizeLimit: new(resource.MustParse(n))}}}}
		return p
	}
	plain := aPod("p", 0)
	for name, c := range map[string]struct {
		pod     *v1.Pod
		layout  Layout
		stats   *statsapi.PodStats
		limited bool
		limit   trace.Signal
		text    string
	}{
		"no limit":             {plain, OneFS, uses(plain, 0, 1<<40, 1<<40, 1<<40, 0), false, "", ""},
		"volume within":        {volume(aPod("p", 0), "", "1Ki"), OneFS, uses(plain, 0, 0, 0, 1024, 0), true, "", ""},
		"volume over":          {volume(aPod("p", 0), "", "1Ki"), OneFS, uses(plain, 0, 0, 0, 1025, 0), true, trace.SignalEmptyDirLimit, `Usage of EmptyDir volume "v" exceeds the limit "1Ki". `},
		"volume in memory":     {volume(aPod("p", 0), v1.StorageMediumMemory, "1Ki"), OneFS, uses(plain, 0, 0, 0, 1025, 0), false, "", ""},
		"volume in huge pages": {volume(aPod("p", 0), "HugePages-2Mi", "1Ki"), OneFS, uses(plain, 0, 0, 0, 1025, 0), true, trace.SignalEmptyDirLimit, `Usage of EmptyDir volume "v" exceeds the limit "1Ki". `},
		"pod over":             {limit(aPod("p", 0), "1Ki"), OneFS, uses(plain, 0, 500, 500, 25, 0), true, trace.SignalPodLimit, "Pod ephemeral local storage usage exceeds the total limit of containers 1Ki. "},
		"pod may use nothing":  {limit(aPod("p", 0), "0"), OneFS, uses(plain, 0, 0, 1, 0, 0), true, trace.SignalPodLimit, "Pod ephemeral local storage usage exceeds the total limit of containers 0. "},
		"pod within":           {limit(aPod("p", 0), "1Ki"), OneFS, uses(plain, 0, 500, 500, 24, 0), true, "", ""},
		"container, layers":    {limit(aPod("p", 0), "1Ki"), OneFS, less(uses(plain, 0, 1025, 0, 0, 0)), true, trace.SignalContainerLimit, `Container c exceeded its local ephemeral storage limit "1Ki". `},
		"layers elsewhere":     {limit(aPod("p", 0), "1Ki"), ImageFS, less(uses(plain, 0, 1025, 0, 0, 0)), true, "", ""},
		"unknown":              {limit(aPod("p", 0), "1Ki"), OneFS, &statsapi.PodStats{}, true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e, over := exceeds(c.pod, c.layout, c.stats)
			if limited(c.pod) != c.limited || e.limit != c.limit || e.message != c.text || over != (c.limit != "") {
				t.Errorf("got %+v, %t, limited %t", e, over, limited(c.pod))
			}
		})
	}
	init := limit(aPod("p", 0), "1Ki")
	init.Spec.InitContainers, init.Spec.Containers = init.Spec.Containers, []v1.Container{{Name: "d"}}
	if _, over := exceeds(init, OneFS, less(uses(plain, 0, 2048, 0, 0, 0))); over {
		t.Error("an init container has no limit of its own")
	}
	init.Spec.InitContainers[0].RestartPolicy = new(v1.ContainerRestartPolicyAlways)
	if _, over := exceeds(init, OneFS, less(uses(plain, 0, 2048, 0, 0, 0))); !over {
		t.Error("a sidecar has one")
	}
}

// less removes the sum, as if it were not known.
func less(st *statsapi.PodStats) *statsapi.PodStats {
	st.EphemeralStorage = nil
	return st
}
