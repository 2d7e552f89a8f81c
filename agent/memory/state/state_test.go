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
		Entries: ContainerMemoryAssignments{"u1": {"web": {{NUMAAffinity: []int{0, 1}, Type: "memory", Size: 2000}}}},
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
	none, err := Format(Content{PolicyName: "None", MachineState: NUMANodeMap{}, Entries: ContainerMemoryAssignments{}})
	if err != nil || string(none) != upstreamNone {
		t.Errorf("%s, %v, want %s", none, err, upstreamNone)
	}
}

func TestParse(t *testing.T) {
	for name, text := range map[string]string{"1.37": upstream, "1.36": upstreamOld, "1.36 with the feature gate": upstreamV2} {
		got, err := Parse([]byte(text))
		if diff := cmp.Diff(example(), got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	for want, text := range map[string]string{
		"checksum is wrong":                 strings.Replace(upstreamOld, `"free":3000`, `"free":3001`, 1),
		"checkpoint is corrupted: checksum": strings.Replace(upstream, `free\":3000`, `free\":3001`, 1),
		"unexpected end of JSON":            upstream[:40],
		"NUMA node 0 has no state":          `{"policyName":"Static","machineState":{"0":null},"checksum":0}`,
		"NUMA node 0: memory has no amou":   `{"policyName":"Static","machineState":{"0":{"memoryMap":{"memory":null}}},"checksum":0}`,
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{upstream, upstreamOld, upstreamV2, upstreamNone, "{}", "null"} {
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
		if got, err := Parse(again); err != nil || got.PolicyName != c.PolicyName || len(got.Entries) != len(c.Entries) {
			t.Errorf("%+v, %v, want %+v", got, err, c)
		}
	})
}
