package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/component-helpers/nodedeclaredfeatures/features"
)

func sorted(lines string) []string {
	list := strings.Split(lines, "\n")
	slices.Sort(list)
	return list
}

func TestGateList(t *testing.T) {
	known := knownGates()
	if len(known) < 200 {
		t.Fatalf("only %d gates", len(known))
	}
	for name, g := range known {
		if !slices.Contains([]string{"alpha", "beta", "ga", "deprecated"}, g.stage) {
			t.Errorf("%s has stage %q", name, g.stage)
		}
		for _, n := range g.needs {
			if _, ok := known[n]; !ok {
				t.Errorf("%s needs %s, which is not listed", name, n)
			}
		}
	}
	for name := range actedOnGates() {
		if _, ok := known[name]; !ok {
			t.Errorf("acted on but not known: %s", name)
		}
	}
	for _, name := range alwaysGates() {
		if g, ok := known[name]; !ok || g.locked || actedOnGates()[name] {
			t.Errorf("%s is not known, locked, or acted on", name)
		}
	}
	r := newReport()
	if resolveGates(nil, r); len(r.problems) > 0 {
		t.Errorf("the defaults contradict each other: %v", r.problems)
	}
}

// TestActedOnGates reads the agent: a gate that it asks about is not reported as ignored.
func TestActedOnGates(t *testing.T) {
	asked := regexp.MustCompile(`ates\.Enabled\("(\w+)"\)`)
	found := 0
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range asked.FindAllSubmatch(text, -1) {
			if found++; !actedOnGates()[string(m[1])] {
				t.Errorf("%s asks about %s, which is not listed as acted on", path, m[1])
			}
		}
		return err
	})
	if err != nil || found < 10 {
		t.Error(found, err)
	}
}

// The documentation has all gates that are off by default and have an effect, and those that have none although their features have.
func TestGatesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/run.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## Feature gates that are off by default\n")
	section, _, ok := strings.Cut(rest, "\n## ")
	table, ignored, ok2 := strings.Cut(section, "\n### Feature gates of the kubelet that have no effect\n")
	if !ok || !ok2 {
		t.Fatal("docs/run.md lacks a section about feature gates")
	}
	known := knownGates()
	for name := range actedOnGates() {
		if !known[name].on && !strings.Contains(table, "\n| "+name+" |") {
			t.Errorf("docs/run.md does not list %s, which is off by default", name)
		}
	}
	for _, name := range alwaysGates() {
		if !regexp.MustCompile(`(?m)^\|[^|]*\b` + name + `\b[^|]*\|`).MatchString(ignored) {
			t.Errorf("docs/run.md does not list %s, which has no effect", name)
		}
	}
}

// A gate of a feature that the node declares decides which pods it admits.
func TestDeclaredGates(t *testing.T) {
	for _, f := range features.AllFeatures {
		for _, name := range f.Requirements().EnabledFeatureGates {
			if !actedOnGates()[name] {
				t.Errorf("%s is declared, but %s is not listed as acted on", f.Name(), name)
			}
		}
	}
}

func TestAllGatesOfAStage(t *testing.T) {
	r := newReport()
	g := resolveGates(map[string]bool{"AllAlpha": true, "EventedPLEG": false}, r)
	for name, want := range map[string]bool{"DefaultPodSysctls": true, "EventedPLEG": false, "NodeSwap": true, "AllAlpha": true, "Nonsense": false} {
		if got := g.Enabled(name); got != want {
			t.Errorf("%s is %t", name, got)
		}
	}
	if g := resolveGates(map[string]bool{"AllBeta": false}, newReport()); g.Enabled("MemoryQoS") {
		t.Error("AllBeta=false leaves MemoryQoS on")
	}
}

// The managers' gate needs that of pod-level resources.
func TestPodLevelGate(t *testing.T) {
	r := newReport()
	if g := resolveGates(map[string]bool{"PodLevelResourceManagers": true}, r); !g.Enabled("PodLevelResourceManagers") || len(r.problems) > 0 {
		t.Errorf("problems %v", r.problems)
	}
	r = newReport()
	resolveGates(map[string]bool{"PodLevelResourceManagers": true, "PodLevelResources": false, "AllBeta": false}, r)
	if len(r.problems) != 1 || r.problems[0].Field != gatePath("PodLevelResourceManagers") || r.problems[0].Detail != "is on but needs PodLevelResources, which is off" {
		t.Errorf("problems %v", r.problems)
	}
}

// What claims have on the node counts only with the gate, which needs DRA.
func TestClaimsGate(t *testing.T) {
	const gate = "DRANodeAllocatableResources"
	for name, tc := range map[string]struct {
		set   map[string]bool
		count bool
	}{
		"default": {nil, false}, "on": {map[string]bool{gate: true}, true}, "all": {map[string]bool{"AllAlpha": true, "AllBeta": true}, true},
		"all but it": {map[string]bool{"AllAlpha": true, "AllBeta": true, gate: false}, false},
	} {
		r := newReport()
		if got := claims(resolveGates(tc.set, r)); bool(got) != tc.count || len(r.problems) > 0 {
			t.Errorf("%s: %v, problems %v", name, got, r.problems)
		}
	}
}
