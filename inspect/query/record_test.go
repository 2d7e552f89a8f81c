package query_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/query"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestRecords(t *testing.T) {
	rs := query.NewRecords()
	pull := &trace.Record{
		Time: time.Date(2026, 11, 22, 12, 3, 4, 0, time.UTC).UnixNano(), Edge: trace.EdgeEnd, Dur: 600 * time.Millisecond,
		Pod:   trace.Pod{Namespace: "shop", Name: "cart", UID: "u1"},
		Event: &trace.CRICall{Method: "PullImage", Image: "docker.io/lab/web:1", Code: "NotFound", Err: "manifest not found"},
	}
	begun := &trace.Record{Time: pull.Time, Edge: trace.EdgeBegin, Pod: pull.Pod, Event: &trace.CRICall{Method: "PullImage"}}
	event := &trace.Record{Time: pull.Time, Event: &trace.PLEGEvent{Type: "ContainerDied", Lag: 2e9, From: "relist"}}
	got := &trace.Record{Time: pull.Time, Observer: trace.ObserverKernel, Precision: trace.PrecisionOf(time.Millisecond), Event: &trace.ImagePull{Image: "web:1", Bytes: 20 << 20, Shared: true}}
	for text, want := range map[string][4]bool{ // of pull, begun, event, got
		`ns=shop dur>500ms err~"not found"`: {true},
		"kind=cri.call":                     {true, true},
		"kind=CRI.call edge=begin":          {false, true},
		"pod=cart err":                      {true},
		"pod=shop/cart !err":                {false, true},
		"!pod=cart":                         {false, false, true, true},
		"method=pullimage":                  {true, true},
		"PullImage":                         {true, true},
		"shop/cart NotFound":                {true},
		"code=NotFound":                     {true},
		"image=web:1":                       {true, false, false, true},
		"lag>1s":                            {false, false, true},
		"bytes>10MiB":                       {false, false, false, true},
		"shared=true":                       {false, false, false, true},
		"observer=agent":                    {true, true, true},
		"observer=kernel precision>=1ms":    {false, false, false, true},
		">500ms":                            {true},
		"<500ms":                            {},
		"time>=12:03:04 time<12:04":         {true, true, true, true},
		"cri.call|pleg.event":               {true, true, true},
	} {
		f, err := query.Parse(text, rs.Fields)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for i, r := range []*trace.Record{pull, begun, event, got} {
			if got := f.Match(rs.Row(r)); got != want[i] {
				t.Errorf("%s, record %d: %v, want %v", text, i, got, want[i])
			}
		}
	}
	for text, want := range map[string]string{
		"kind=cri.cal":   `"cri.cal" is not one of its values: did you mean cri.call?`,
		"observer=kernl": `"kernl" is not one of its values: did you mean kernel?`,
		"methd=x":        `no field "methd": did you mean method? (fields: kind, pod, ns, dur, err, edge, observer, precision, time, and the fields of events`,
		"lag>3":          `"3" is not a duration`,
		"method>3":       "method cannot be compared with >",
		"container=x y>": `no field "y"`,
	} {
		if _, err := query.Parse(text, rs.Fields); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestEveryKindHasRows: each kind of record has a row: there is no field of an unsupported type.
func TestEveryKindHasRows(t *testing.T) {
	rs := query.NewRecords()
	for _, kind := range trace.Kinds() {
		e, _ := trace.New(kind)
		r := &trace.Record{Event: e}
		for _, f := range rs.Fields.All {
			rs.Row(r).Field(f.Name)
		}
		if text := rs.Row(r).Text(); !strings.HasPrefix(text, kind) {
			t.Errorf("%s: text %q", kind, text)
		}
	}
}
