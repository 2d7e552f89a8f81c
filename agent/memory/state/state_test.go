package state

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

func example() Content {
	node := func() *NUMANodeState {
		return &NUMANodeState{NumberOfAssignments: 1, Cells: []int{0, 1}, MemoryMap: map[v1.ResourceName]*MemoryTable{
			"memory": {TotalMemSize: 4096, SystemReserved: 96, Allocatable: 4000, Reserved: 1000, Free: 3000}, "hugepages-2Mi": {},
		}}
	}
	return Content{
		PolicyName: "Static", MachineState: NUMANodeMap{0: node(), 1: node()},
		Entries:    ContainerMemoryAssignments{"u1": {"web": {{NUMAAffinity: []int{0, 1}, Type: "memory", Size: 2000}}}},
		PodEntries: PodMemoryAssignments{},
	}
}

// pods has a pod with memory for all of its containers.
func pods() Content {
	of := func(n uint64) []Block { return []Block{{NUMAAffinity: []int{0}, Type: "memory", Size: n}} }
	return Content{
		PolicyName: "Static", MachineState: NUMANodeMap{0: {NumberOfAssignments: 1, Cells: []int{0}, MemoryMap: map[v1.ResourceName]*MemoryTable{
			"memory": {TotalMemSize: 4096, SystemReserved: 96, Allocatable: 4000, Reserved: 2000, Free: 2000},
		}}},
		Entries: ContainerMemoryAssignments{"u1": {"web": of(1500), "log": of(500)}}, PodEntries: PodMemoryAssignments{"u1": {MemoryBlocks: of(2000)}},
	}
}

func TestFormat(t *testing.T) {
	text, err := Format(example())
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != upstream {
		t.Errorf("%s, want %s", text, upstream)
	}
	if text, err = Format(pods()); err != nil || string(text) != upstreamPods {
		t.Errorf("%s, %v, want %s", text, err, upstreamPods)
	}
	none, err := Format(Content{PolicyName: "None", MachineState: NUMANodeMap{}, Entries: ContainerMemoryAssignments{}})
	if err != nil || string(none) != upstreamNone {
		t.Errorf("%s, %v, want %s", none, err, upstreamNone)
	}
}

func TestParse(t *testing.T) {
	v2 := example()
	v2.PodEntries["u9"] = PodEntry{MemoryBlocks: v2.Entries["u1"]["web"]}
	for name, c := range map[string]struct {
		text string
		want Content
	}{
		"1.37": {upstream, example()}, "1.36": {upstreamOld, example()}, "1.37 with pods": {upstreamPods, pods()}, "1.36 with the feature gate": {upstreamV2, v2},
	} {
		got, err := Parse([]byte(c.text))
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	for want, text := range map[string]string{
		"checksum is wrong":                  strings.Replace(upstreamOld, `"free":3000`, `"free":3001`, 1),
		"checkpoint is corrupted: checksum":  strings.Replace(upstream, `free\":3000`, `free\":3001`, 1),
		"checkpoint is corrupted: checksum ": strings.Replace(upstreamPods, `size\":2000`, `size\":2001`, 1),
		"corrupted: its checksum is wrong":   strings.Replace(upstreamV2, `"u9"`, `"u8"`, 1),
		"unexpected end of JSON":             upstream[:40],
		"NUMA node 0 has no state":           `{"policyName":"Static","machineState":{"0":null},"checksum":0}`,
		"NUMA node 0: memory has no amou":    `{"policyName":"Static","machineState":{"0":{"memoryMap":{"memory":null}}},"checksum":0}`,
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{upstream, upstreamOld, upstreamV2, upstreamPods, upstreamNone, "{}", "null"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Format(c)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Parse(again); err != nil || got.PolicyName != c.PolicyName || len(got.Entries) != len(c.Entries) || len(got.PodEntries) != len(c.PodEntries) {
			t.Errorf("%+v, %v, want %+v", got, err, c)
		}
	})
}
