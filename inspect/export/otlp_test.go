package export_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kubeloupe/kubeloupe/inspect/export"
	"github.com/kubeloupe/kubeloupe/trace"
)

// otlp writes records and reads them again. An independent reader is in test/exportcheck.
func otlp(t *testing.T, recs []trace.Record, opt export.Options) *tracepb.TracesData {
	t.Helper()
	var b bytes.Buffer
	if err := export.OTLP(&b, recs, opt); err != nil {
		t.Fatal(err)
	}
	var out tracepb.TracesData
	if err := proto.Unmarshal(b.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

// TestOTLPSpans compares every span with the records.
func TestOTLPSpans(t *testing.T) {
	sessions := map[string][]trace.Record{"recorded": recorded(t), "slow-pull": slowPull(), "pulling": pulling(), "evil": evil(), "none": nil}
	for seed := range uint64(5) {
		sessions[fmt.Sprintf("scrambled %d", seed)] = scrambled(seed)
	}
	for name, recs := range sessions {
		t.Run(name, func(t *testing.T) {
			got := map[string]slice{}
			for _, sp := range allSpans(otlp(t, recs, export.Options{})) {
				s := slice{start: int64(sp.GetStartTimeUnixNano()), dur: int64(sp.GetEndTimeUnixNano() - sp.GetStartTimeUnixNano())}
				isPoint := true
				for _, a := range sp.GetAttributes() {
					s.open = s.open || a.GetKey() == "kubeloupe.open"
				}
				id := fmt.Sprintf("%x", sp.GetSpanId())
				for _, r := range recs {
					isPoint = isPoint && (r.Span.String() != id || r.Edge == trace.EdgePoint && r.Event.Kind().String() != "runtime.span")
				}
				if !isPoint {
					got[id] = s
				}
			}
			if diff := cmp.Diff(spansIn(recs), got, cmp.AllowUnexported(slice{})); diff != "" {
				t.Errorf("spans (-records +OTLP):\n%s", diff)
			}
		})
	}
}

func allSpans(td *tracepb.TracesData) []*tracepb.Span {
	var out []*tracepb.Span
	for _, rs := range td.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			out = append(out, ss.GetSpans()...)
		}
	}
	return out
}

// TestOTLPGolden keeps files that test/exportcheck reads with the collector's decoder.
func TestOTLPGolden(t *testing.T) {
	for name, recs := range map[string][]trace.Record{"slow-pull": slowPull(), "pulling": pulling(), "evil": evil(), "session": recorded(t)} {
		var asJSON, pretty, binary bytes.Buffer
		if err := export.OTLPJSON(&asJSON, recs, export.Options{}); err != nil {
			t.Fatal(err)
		}
		if err := export.OTLP(&binary, recs, export.Options{}); err != nil {
			t.Fatal(err)
		}
		if name == "session" {
			golden(t, name+".otlp.json", asJSON.Bytes())
		}
		if name == "slow-pull" {
			if err := json.Indent(&pretty, asJSON.Bytes(), "", " "); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".otlp.json", pretty.Bytes())
		}
		file := filepath.Join("testdata", name+".otlp.pb")
		if *update {
			golden(t, name+".otlp.pb", binary.Bytes())
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var kept, now tracepb.TracesData // bytes may differ between versions of the encoder
		if err := errors.Join(proto.Unmarshal(want, &kept), proto.Unmarshal(binary.Bytes(), &now)); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(&kept, &now) {
			t.Errorf("%s differs from what is written now; -update rewrites it", file)
		}
	}
}

func TestOTLPEmptyJSON(t *testing.T) {
	var b bytes.Buffer
	if err := export.OTLPJSON(&b, nil, export.Options{}); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(b.Bytes()) {
		t.Errorf("got %s", b.String())
	}
}

// TestOTLPOnePod has no other pod's spans, and no parent that is elsewhere.
func TestOTLPOnePod(t *testing.T) {
	td := otlp(t, recorded(t), export.Options{Pod: trace.Pod{Namespace: "shop", Name: "web-vm"}})
	known := map[string]bool{}
	for _, sp := range allSpans(td) {
		known[string(sp.GetSpanId())] = true
	}
	for _, sp := range allSpans(td) {
		if up := sp.GetParentSpanId(); len(up) > 0 && !known[string(up)] {
			t.Errorf("%s: its parent %x is not there", sp.GetName(), up)
		}
	}
	for _, rs := range td.GetResourceSpans() {
		for _, a := range rs.GetResource().GetAttributes() {
			if a.GetKey() == "k8s.pod.name" && a.GetValue().GetStringValue() != "web-vm" {
				t.Errorf("spans of %s", a.GetValue().GetStringValue())
			}
		}
	}
}

func TestOTLPErrors(t *testing.T) {
	found := false
	for _, sp := range allSpans(otlp(t, evil(), export.Options{})) {
		if sp.GetName() == "create x" && sp.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR {
			found = sp.GetStatus().GetMessage() != ""
		}
	}
	if !found {
		t.Error("the action that failed has no error")
	}
	for _, write := range []func() error{
		func() error { return export.OTLP(broken{}, slowPull(), export.Options{}) },
		func() error { return export.OTLPJSON(broken{}, slowPull(), export.Options{}) },
	} {
		if err := write(); err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("a writer that fails: got %v", err)
		}
	}
}

func BenchmarkOTLP(b *testing.B) {
	recs := recorded(b)
	for b.Loop() {
		var out bytes.Buffer
		if err := export.OTLP(&out, recs, export.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(recs))*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
