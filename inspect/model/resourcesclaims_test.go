package model

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

// A claim has the state of the last record about it; one that is gone is forgotten, and so are all when the agent starts again.
func TestClaims(t *testing.T) {
	tp := tape.New()
	none := trace.Pod{}
	is := func(namespace, name string, state trace.ClaimState) {
		tp.Point(0, none, 0, &trace.ClaimDescribed{Namespace: namespace, Name: name, State: state})
	}
	m := New(Options{})
	seen := 0
	want := func(want ...string) {
		t.Helper()
		recs := tp.Records()
		for i := range recs[seen:] {
			m.Apply(&recs[seen+i])
		}
		seen = len(recs)
		var got []string
		for _, c := range m.Resources().Claims {
			got = append(got, fmt.Sprintf("%s %s %t", c, c.State, c.Failed()))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	is("b", "gpu", trace.ClaimPreparing)
	is("a", "nic", trace.ClaimFailed)
	is("a", "gpu", trace.ClaimRestored)
	want("a/gpu restored false", "a/nic prepare-failed true", "b/gpu preparing false")
	first := m.Resources()
	is("b", "gpu", trace.ClaimStuck)
	is("a", "nic", trace.ClaimGone)
	is("a", "unknown", trace.ClaimGone)
	want("a/gpu restored false", "b/gpu unprepare-failed true")
	if first.Claims[2].State != trace.ClaimPreparing {
		t.Error("what was handed out has changed")
	}
	tp.Point(0, none, 0, &trace.Agent{State: trace.AgentStopped})
	tp.Point(0, none, 0, &trace.Agent{State: trace.AgentStarting})
	want()
}

// Of too many claims, those stay about which the last records were; a model that is full cuts their texts.
func TestManyClaims(t *testing.T) {
	tp := tape.New()
	for i := range maxClaims + 10 {
		tp.Point(0, trace.Pod{}, 0, &trace.ClaimDescribed{
			Namespace: "ns", Name: fmt.Sprint(i), State: trace.ClaimReady, Err: strings.Repeat("x", 1000),
			Devices: []trace.ClaimDevice{{Health: trace.DeviceUnhealthy}, {Health: trace.DeviceHealthUnknown}, {Health: trace.DeviceHealthy}, {}},
		})
	}
	m := New(Options{})
	recs := tp.Records()
	for i := range recs {
		m.Apply(&recs[i])
	}
	r := m.Resources()
	if len(r.Claims)+r.OmittedClaims != maxClaims+10 || r.OmittedClaims != maxClaims/4 {
		t.Errorf("%d claims, %d omitted", len(r.Claims), r.OmittedClaims)
	}
	if c := m.Resources().Claims[0]; c.Name != "1024" {
		t.Errorf("the first claim is %s", c.Name)
	} else if unhealthy, unknown := c.Unhealthy(); unhealthy != 1 || unknown != 1 {
		t.Errorf("%d unhealthy, %d unknown", unhealthy, unknown)
	}
	m.res.shorten()
	if n := len(m.Resources().Claims[0].Err); n >= 1000 || n == 0 {
		t.Errorf("the error has %d bytes", n)
	}
}
