package state

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/cpuset"
)

func content2() Content {
	return Content{
		Policy: "static", Default: cpuset.New(0, 1, 4, 5),
		Assigned: Assignments{"u1": {"web": cpuset.New(2, 6), "log": cpuset.New(3)}, "u2": {"db": cpuset.New(7)}}, Pods: PodCPUAssignments{},
	}
}

// content3 has a pod with CPUs for all of its containers.
func content3() Content {
	c := content2()
	c.Pods["u1"] = PodEntry{cpuset.New(2, 3, 6)}
	return c
}

// withBaselines has what containers got at admission.
func withBaselines(c Content) Content {
	c.Baselines = Assignments{"u1": {"web": cpuset.New(2), "log": cpuset.New(3)}, "u2": {"db": cpuset.New(7)}}
	return c
}

// The dump of a value is what upstream sums: with the names of its types, without those that V2 of upstream has in addition.
func TestFormat(t *testing.T) {
	text, err := Format(content2())
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != upstream {
		t.Errorf("%s, want %s", text, upstream)
	}
	if text, err = Format(content3()); err != nil || string(text) != upstreamPods {
		t.Errorf("%s, %v, want %s", text, err, upstreamPods)
	}
	if text, err = Format(withBaselines(content2())); err != nil || string(text) != upstreamBaselines {
		t.Errorf("%s, %v, want %s", text, err, upstreamBaselines)
	}
	if text, err = Format(withBaselines(content3())); err != nil || string(text) != upstreamPodBaselines {
		t.Errorf("%s, %v, want %s", text, err, upstreamPodBaselines)
	}
	none, err := Format(Content{Policy: "none"})
	if err != nil || string(none) != upstreamNone {
		t.Errorf("%s, %v, want %s", none, err, upstreamNone)
	}
}

func TestParse(t *testing.T) {
	v3 := content2()
	v3.Pods["u9"] = PodEntry{cpuset.New(1, 2)}
	for name, c := range map[string]struct {
		text string
		want Content
	}{
		"1.37": {upstream, content2()}, "1.36": {upstreamOld, content2()}, "1.37 with pods": {upstreamPods, content3()}, "1.36 with the feature gate": {upstreamV3, v3},
		"1.37 after a resize": {upstreamBaselines, withBaselines(content2())}, "1.37 after a resize, with pods": {upstreamPodBaselines, withBaselines(content3())},
	} {
		got, err := Parse([]byte(c.text))
		if diff := cmp.Diff(c.want, got, cmp.Comparer(cpuset.CPUSet.Equals)); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	if got, err := Parse([]byte(`{"policyName":"none","defaultCpuSet":"","checksum":0}`)); err != nil || got.Policy != "none" {
		t.Errorf("%+v, %v: a file without a checksum is accepted", got, err)
	}
	for want, text := range map[string]string{
		"checksum is wrong":                     strings.Replace(upstreamOld, "0-1,4-5", "0-1,4", 1),
		"checkpoint is corrupted: checksum":     strings.Replace(upstream, `web\":\"2,6`, `web\":\"2`, 1),
		"checkpoint is corrupted: checksum 2":   strings.Replace(upstreamPods, `cpuSet\":\"2-3,6`, `cpuSet\":\"2-3,7`, 1),
		"checkpoint is corrupted: its checksum": strings.Replace(upstreamV3, `"cpuSet":"1-2"`, `"cpuSet":"1-3"`, 1),
		"unexpected end of JSON":                upstream[:40],
		"invalid character":                     "x",
		"default CPUs":                          strings.NewReplacer(`"0-1,4-5"`, `"0-x"`, sumOld, `"checksum":0`).Replace(upstreamOld),
		`CPUs of container "db" of pod "u2"`:    strings.NewReplacer(`"7"`, `"0-4294967295"`, sumOld, `"checksum":0`).Replace(upstreamOld),
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{upstream, upstreamOld, upstreamV3, upstreamPods, upstreamNone, upstreamBaselines, "{}", "null"} {
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
		if got, err := Parse(again); err != nil || !got.Default.Equals(c.Default) || got.Policy != c.Policy || len(got.Pods) != len(c.Pods) || len(got.Baselines) != len(c.Baselines) {
			t.Errorf("%+v, %v, want %+v", got, err, c)
		}
	})
}
