package config

import (
	_ "embed" // for the list of gates
	"fmt"
	"maps"
	"slices"
	"strings"
)

//go:embed gates.txt
var gatesText string

// Gates is the effective state of every feature gate that a kubelet of this version knows.
type Gates struct{ on map[string]bool }

// Enabled reports whether a gate is on. Unknown gates are off.
func (g Gates) Enabled(name string) bool { return g.on[name] }

// Each calls f for each gate, with its stage: alpha, beta, ga or deprecated.
func (g Gates) Each(f func(name, stage string, on bool)) {
	for name, known := range knownGates() {
		f(name, known.stage, g.on[name])
	}
}

// gate is one line of gates.txt.
type gate struct {
	stage  string
	on     bool
	locked bool
	needs  []string
}

// knownGates parses the embedded list.
func knownGates() map[string]gate {
	known := map[string]gate{}
	for line := range strings.Lines(gatesText) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] == "#" {
			continue
		}
		g := gate{stage: words[1], on: words[2] == "on"}
		for _, w := range words[3:] {
			if needs, ok := strings.CutPrefix(w, "needs="); ok {
				g.needs = strings.Split(needs, ",")
			} else {
				g.locked = g.locked || w == "locked"
			}
		}
		known[words[0]] = g
	}
	return known
}

// resolveGates applies the featureGates map to the defaults and reports what is wrong with it. AllAlpha and AllBeta set
// every gate of their stage that is not set itself.
//
// Upstream: component-base/featuregate/feature_gate.go, SetFromMap and Validate.
func resolveGates(set map[string]bool, r *report) Gates {
	known := knownGates()
	on := make(map[string]bool, len(known))
	for name, g := range known {
		on[name] = g.on
		if v, ok := set["All"+capital(g.stage)]; ok && !g.locked && (g.stage == "alpha" || g.stage == "beta") {
			on[name] = v
		}
	}
	names := append(slices.Sorted(maps.Keys(known)), "AllAlpha", "AllBeta")
	for _, name := range slices.Sorted(maps.Keys(set)) {
		g, ok := known[name]
		switch {
		case name == "AllAlpha" || name == "AllBeta":
			on[name] = set[name]
		case !ok:
			r.add(gatePath(name), "unknown feature gate%s", didYouMean(name, names))
		case g.locked && set[name] != g.on:
			r.add(gatePath(name), "cannot be %t: the gate is locked to %t", set[name], g.on)
		default:
			on[name] = set[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if !on[name] {
			continue
		}
		off := slices.DeleteFunc(slices.Clone(known[name].needs), func(n string) bool { return on[n] })
		if len(off) > 0 {
			r.add(gatePath(name), "is on but needs %s, which is off", strings.Join(off, ", "))
		}
	}
	return Gates{on: on}
}

func gatePath(name string) string { return fmt.Sprintf("featureGates[%q]", name) }

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
