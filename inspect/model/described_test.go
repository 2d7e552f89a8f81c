package model

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

// The last descriptions count, separately for each certificate, and a restarted agent must publish them again.
func TestDescribed(t *testing.T) {
	none := trace.Pod{}
	tp := tape.New()
	tp.Point(0, none, 0, &trace.Agent{State: trace.AgentStarting, Node: "lab-1"})
	before := len(tp.Records())
	tp.Point(1*ms, none, 0, &trace.NodeDescribed{Node: "lab-1", Kernel: "6.8.0"})
	tp.Point(2*ms, none, 0, &trace.NodeDescribed{Node: "lab-1", Kernel: "6.9.0", Changed: []string{"kernel 6.8.0 → 6.9.0"}})
	tp.Point(3*ms, none, 0, &trace.RuntimeDescribed{Handlers: []trace.RuntimeHandler{{UserNamespaces: true}, {Name: "kata"}}})
	tp.Point(4*ms, none, 0, &trace.Certificate{Use: "serving", None: "not yet"})
	tp.Point(5*ms, none, 0, &trace.Certificate{Use: "client", Serial: "1"})
	tp.Point(6*ms, none, 0, &trace.Certificate{Use: "serving", Serial: "2"})
	told := len(tp.Records())
	tp.Point(7*ms, none, 0, &trace.Agent{State: trace.AgentStopped})
	tp.Point(8*ms, none, 0, &trace.Agent{State: trace.AgentStarting, Node: "lab-1"})
	recs := tp.Records()

	m := New(Options{})
	apply(m, recs[:before])
	if n := m.Node(); !n.Described.At.IsZero() || !n.Handlers.At.IsZero() || len(m.Certificates()) > 0 {
		t.Errorf("before: %+v %v", n, m.Certificates())
	}
	apply(m, recs[before:told])
	n := m.Node()
	if n.Described.Kernel != "6.9.0" || !n.Described.At.Equal(tape.Epoch.Add(2*ms)) || len(n.Described.Changed) != 1 {
		t.Errorf("%+v", n.Described)
	}
	h := n.Handlers
	users := h.Who(func(h trace.RuntimeHandler) bool { return h.UserNamespaces })
	if all, nobody := h.Who(func(trace.RuntimeHandler) bool { return true }), h.Who(func(trace.RuntimeHandler) bool { return false }); users != "(default)" || all != "all" || nobody != "none" {
		t.Errorf("%q %q %q", users, all, nobody)
	}
	want := []Certificate{
		{Certificate: trace.Certificate{Use: "client", Serial: "1"}, At: recs[before+4].At(), Seq: recs[before+4].Seq},
		{Certificate: trace.Certificate{Use: "serving", Serial: "2"}, At: recs[before+5].At(), Seq: recs[before+5].Seq},
	}
	if d := cmp.Diff(want, m.Certificates()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	apply(m, recs[told:])
	if n := m.Node(); !n.Described.At.IsZero() || !n.Handlers.At.IsZero() || len(m.Certificates()) > 0 {
		t.Errorf("after a restart: %+v %v", n, m.Certificates())
	}
}

func TestCertificatesAreBounded(t *testing.T) {
	m, tp := New(Options{}), tape.New()
	for i := range 3 * maxSignals {
		tp.Point(time.Duration(i), trace.Pod{}, 0, &trace.Certificate{Use: trace.CertificateUse(rune('a' + i))})
	}
	apply(m, tp.Records())
	if n := len(m.Certificates()); n != maxSignals {
		t.Errorf("%d certificates", n)
	}
}

func TestAmount(t *testing.T) {
	for _, c := range [][3]string{
		{"cpu", "1900m", "1900m"},
		{"pods", "110", "110"},
		{"example.com/gpu", "2", "2"},
		{"memory", "16393244Ki", "15.6 GiB"},
		{"memory", "15868956Ki", "15.1 GiB"},
		{"memory", "2Ti", "2.0 TiB"},
		{"memory", "512Mi", "512 MiB"},
		{"ephemeral-storage", "102400Mi", "100 GiB"},
		{"ephemeral-storage", "96636764160", "90.0 GiB"},
		{"hugepages-2Mi", "0", "0 B"},
		{"memory", "1500M", "1.4 GiB"},
		{"memory", "", ""},
		{"memory", "1e9", "1e9"},
		{"memory", "Ki", "Ki"},
		{"memory", "12345678901234567890Ki", "12345678901234567890Ki"},
		{"memory", "9223372036854775807Ti", "9223372036854775807Ti"},
		{"memory", "-5Gi", "-5Gi"},
		{"memory", "5KiMi", "5KiMi"},
	} {
		if got := Amount(c[0], c[1]); got != c[2] {
			t.Errorf("%s %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
