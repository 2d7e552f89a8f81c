package backlog_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kubeloupe/kubeloupe/inspect/backlog"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/jsonl"
)

// recorded reads a session from testdata: what tui/tuitest scripts, as JSON lines.
func recorded(t testing.TB, name string) []trace.Record {
	t.Helper()
	f, err := os.Open("testdata/" + name + ".jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		t.Fatal(err)
	}
	var out []trace.Record
	for r, err := range jsonl.Read(z) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// late folds what k has kept into a new model.
func late(t testing.TB, k *backlog.Store) *model.Model {
	t.Helper()
	b, err := k.Backlog(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	m := model.New(model.Options{})
	var seq uint64
	holes := b.Holes
	for r, lost := range b.All() {
		if r.Seq <= seq {
			t.Fatalf("record %d comes after %d", r.Seq, seq)
		}
		for ; len(holes) > 0 && holes[0].After < r.Seq; holes = holes[1:] {
			lost -= holes[0].Lost
		}
		if lost != 0 {
			t.Fatalf("before record %d %d too many are lost", r.Seq, lost)
		}
		seq = r.Seq
	}
	for r, lost := range b.All() {
		m.Lost(lost)
		m.Apply(&r)
	}
	return m
}

// counts are fields that count what happened before: nobody who attaches late can know them.
var counts = []cmp.Option{
	cmpopts.IgnoreFields(model.Node{}, "Records", "First", "LostAt"),
	cmpopts.IgnoreFields(model.Worker{}, "Syncs", "Errors", "Waits"),
	cmpopts.IgnoreFields(model.Volume{}, "Refreshes", "Errors", "Waited", "ProgressAt"),
	cmpopts.IgnoreFields(model.Status{}, "Writes", "Errors", "Bytes", "Waited"),
	cmpopts.IgnoreFields(model.Probe{}, "Attempts", "Failures"),
	cmpopts.IgnoreFields(model.API{}, "Calls", "Errors", "Waited"),
	cmpopts.IgnoreFields(model.Source{}, "Sets", "Changes"),
	cmpopts.IgnoreFields(model.NodeObject{}, "Writes", "Errors", "Renewals"),
	cmpopts.IgnoreFields(model.Call{}, "Request", "Response"),
	cmpopts.IgnoreUnexported(model.Probe{}),
	cmpopts.EquateEmpty(),
}

// same compares what two models say of the node; the first has folded everything.
func same(all, late *model.Model) string {
	now := all.Node().Last.Add(time.Second)
	for _, c := range []struct {
		what      string
		want, got any
	}{
		{"node", all.Node(), late.Node()},
		{"pods", all.Pods(), late.Pods()},
		{"counts", all.Counts(), late.Counts()},
		{"volumes", all.Volumes(), late.Volumes()},
		{"statuses", all.Statuses(), late.Statuses()},
		{"probes", all.Probes(), late.Probes()},
		{"API", all.API(), late.API()},
		{"node's object", all.NodeObject(), late.NodeObject()},
		{"pressure", all.Pressure(), late.Pressure()},
		{"figures of memory", all.PressureHistory("memory"), late.PressureHistory("memory")},
		{"shortages", all.Shortages(), late.Shortages()},
		{"certificates", all.Certificates(), late.Certificates()},
		{"resources", all.Resources(), late.Resources()},
		{"conditions", all.NodeConditions(), late.NodeConditions()},
		{"sources", all.Sources(), late.Sources()},
		{"source errors", all.SourceErrors(), late.SourceErrors()},
		{"calls in flight", all.InFlight(), late.InFlight()},
		{"methods", all.Methods(now), late.Methods(now)},
		{"requests", all.Requests(now), late.Requests(now)},
		{"last iterations", tail(all.Loops(), 64), tail(late.Loops(), 64)},
		{"last passes", tail(all.Passes(), 16), tail(late.Passes(), 16)},
		{"last decisions", tail(all.Decisions(), 300), tail(late.Decisions(), 300)},
		{"last lines", tail(all.Lines(), 200), tail(late.Lines(), 200)},
	} {
		if diff := cmp.Diff(c.want, c.got, counts...); diff != "" {
			return fmt.Sprintf("%s (-all +late):\n%s", c.what, diff)
		}
	}
	for _, p := range all.Pods() {
		want, cut := all.StartRecords(p.Key)
		got, lateCut := late.StartRecords(p.Key)
		if diff := cmp.Diff(seqs(want), seqs(got)); diff != "" || cut != lateCut {
			return fmt.Sprintf("start of %s (cut %t %t, -all +late):\n%s", p.Key, cut, lateCut, diff)
		}
	}
	return ""
}

func tail[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }

func seqs(recs []trace.Record) []uint64 {
	var out []uint64
	for _, r := range recs {
		out = append(out, r.Seq)
	}
	return out
}

// check folds a stream in pieces and compares after each; a piece whose number is in lost is not seen by either.
func check(t *testing.T, recs []trace.Record, piece int, lost func(i int) bool) {
	t.Helper()
	all, k := model.New(model.Options{}), backlog.New(backlog.Options{})
	var missing uint64
	for i := 0; len(recs) > 0; i++ {
		some := recs[:min(piece, len(recs))]
		recs = recs[len(some):]
		if lost(i) {
			missing += uint64(len(some))
			continue
		}
		all.Lost(missing)
		for j := range some {
			all.Apply(&some[j])
		}
		k.Apply(some, missing)
		missing = 0
		if diff := same(all, late(t, k)); diff != "" {
			t.Fatalf("after record %d (%T): %s", some[len(some)-1].Seq, some[len(some)-1].Event, diff)
		}
	}
}

func never(int) bool { return false }

func TestLateIsTheSame(t *testing.T) {
	for _, name := range []string{"session", "cluster", "machine"} {
		t.Run(name, func(t *testing.T) {
			recs := recorded(t, name)
			check(t, recs, max(1, len(recs)/12), never)
		})
	}
}
