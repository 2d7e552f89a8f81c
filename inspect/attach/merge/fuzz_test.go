package merge_test

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/attach/merge"
	"github.com/kubeloupe/kubeloupe/trace"
)

// FuzzMerge merges records that begin and end actions of few pods at any times, from several inputs: all that was put in comes out, or is told
// by another one.
func FuzzMerge(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	f.Add([]byte{1, 0, 200, 9, 3, 7, 255, 255, 0, 0, 0, 1, 128, 64, 32, 16})
	f.Fuzz(func(t *testing.T, script []byte) {
		m := merge.New(merge.Options{})
		in := []*merge.Input{m.Input(), m.Input(), m.Input()}
		observers := []trace.Observer{trace.ObserverKubeletLog, trace.ObserverRuntimeLog, trace.ObserverKubeletAPI}
		got := 0
		take := func() {
			for r, _, ok := m.Next(); ok; r, _, ok = m.Next() {
				if r.Event == nil {
					t.Error("a record without an event")
				}
				got++
			}
		}
		put := 0
		spans := []trace.SpanID{trace.NewSpanID(), trace.NewSpanID(), trace.NewSpanID(), trace.NewSpanID()}
		for at := int64(1); len(script) >= 4; script = script[4:] {
			a, b, c, d := script[0], script[1], script[2], script[3]
			at += int64(b)*10_000_000 - int64(c)*1_000_000
			i := int(a) % len(in)
			verb := []string{"sandbox", "create", "start", "image"}[d%4]
			r := trace.Record{
				Time: max(at, 1), Observer: observers[i], Pod: trace.Pod{Namespace: "n", Name: string(rune('a' + c%3)), UID: string(rune('u' + d%2))}, Span: spans[(a+d)%4],
				Event: &trace.Action{Verb: trace.Verb(verb), Target: "c"},
			}
			switch a >> 6 {
			case 1:
				r.Edge = trace.EdgeBegin
			case 2:
				r.Edge = trace.EdgeEnd
			case 3:
				in[i].Lost(uint64(b))
			}
			in[i].Put(r)
			put++
			if d%8 == 0 {
				in[i].Until(at)
				take()
			}
		}
		for _, i := range in {
			i.Close()
		}
		take()
		if got > 8*put+8 {
			t.Errorf("%d records of %d", got, put)
		}
	})
}
