package ship

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/bundle"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestForeign makes trees of what the log of upstream's kubelet told, as attach does: each span says who observed it, and how precisely.
func TestForeign(t *testing.T) {
	src, err := bundle.Open(t.Context(), []string{"../attach/kubeletlog/testdata/v4.log.gz"}, bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	s := session.New(session.Options{})
	for buf := make([]trace.Record, 0, 512); ; {
		recs, lost, err := src.Next(t.Context(), buf)
		s.Lost(lost)
		for i := range recs {
			s.Apply(&recs[i])
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	outcomes := map[string]string{}
	for _, l := range s.Runs() {
		c := s.Case(l, time.Time{})
		if c.Waterfall == nil {
			continue
		}
		is := outline(c, 0)
		tree := start(c, &is)
		outcomes[l.Pod.String()] = is.Outcome
		spans, n := tree.Spans(maxTree)
		seen, exact := 0, 0
		for _, rs := range spans {
			for _, sp := range rs.GetScopeSpans()[0].GetSpans() {
				if len(sp.GetTraceId()) != 16 || len(sp.GetSpanId()) != 8 {
					t.Errorf("%s: span %q has no ids", l.Pod, sp.GetName())
				}
				has := map[string]bool{}
				for _, a := range sp.GetAttributes() {
					has[a.GetKey()+"="+a.GetValue().GetStringValue()] = true
					has[a.GetKey()] = true
				}
				switch {
				case len(sp.GetParentSpanId()) == 0:
				case has["kubeloupe.observer=kubelet-log"] && has["kubeloupe.precision_us"]:
					seen++
				case !has["kubeloupe.observer"]:
					exact++
				}
			}
		}
		if n < 3 || seen == 0 || exact > 0 {
			t.Errorf("%s: %d spans, %d seen in the log, %d without an observer", l.Pod, n, seen, exact)
		}
	}
	for pod, want := range map[string]string{"shop/web": outcomeReady, "shop/no-secret": outcomeFailed} {
		if outcomes[pod] != want {
			t.Errorf("%s: %q, want %q; all: %s", pod, outcomes[pod], want, strings.Join(keys(outcomes), " "))
		}
	}
}

func keys(of map[string]string) (out []string) {
	for k, v := range of {
		out = append(out, k+"="+v)
	}
	return out
}
