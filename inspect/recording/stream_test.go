package recording

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/kubeloupe/kubeloupe/trace"
)

const dream = `{"seq":99,"time":"2026-03-01T12:00:00.000000001Z","kind":"dream","event":{"of":"sheep"}}`

func asLines(t testing.TB, recs []trace.Record) string {
	return strings.Join(texts(t, recs), "\n") + "\n"
}

func TestJSONLines(t *testing.T) {
	recs := busy(1500, later, 1)
	recs[0].Event = &trace.Agent{State: trace.AgentReady, Node: "n1"}
	good := asLines(t, recs)
	lost := texts(t, []trace.Record{*lostRecord(4, recs[0].Time)})[0] + "\n"
	for _, c := range []struct {
		name, text string
		first      Item // the expected data, without the record
		want       Info
	}{
		{"good", good, Item{}, Info{Records: 1500}},
		{"a loss", lost + good, Item{Lost: 4}, Info{Records: 1501}},
		{"torn", good + `{"seq":1501,"time":`, Item{}, Info{Records: 1500, Torn: true}},
		{"the last line lacks its end", strings.TrimSuffix(good, "\n"), Item{}, Info{Records: 1499}},
		{"a damaged record", `{"seq":` + "\n" + good, Item{Lost: 1}, Info{Records: 1501, Skipped: 1, Damage: []string{"line 1: record"}}},
		{"a line of another program", "WARN hello\n\n" + good, Item{}, Info{Records: 1502, Damage: []string{"line 1: record"}}},
		{"a kind of the future", dream + "\n" + good, Item{}, Info{Records: 1501, Unknown: 1}},
	} {
		p := path(t)
		if err := os.WriteFile(p, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		items, info := read(t, p)
		same(t, items, recs)
		if items[0].Lost != c.first.Lost || info.Records != c.want.Records || info.Torn != c.want.Torn || info.Skipped != c.want.Skipped ||
			info.Unknown != c.want.Unknown || info.Format != FormatJSONL || info.Node != "n1" || !info.First.Equal(recs[0].At()) && c.want.Unknown == 0 || !info.Last.Equal(recs[1499].At()) {
			t.Errorf("%s: %d lost, %+v", c.name, items[0].Lost, info)
		}
		if len(info.Damage) != len(c.want.Damage) || len(info.Damage) > 0 && !strings.HasPrefix(info.Damage[0], c.want.Damage[0]) {
			t.Errorf("%s: %q", c.name, info.Damage)
		}
		r, err := OpenReader(iotest.HalfReader(strings.NewReader(c.text)))
		if err != nil {
			t.Fatal(err)
		}
		same(t, all(t, r), recs)
		if s := r.Info(); s.Torn != info.Torn || s.Skipped != info.Skipped || s.Unknown != info.Unknown || s.Records != 1500 || len(s.Damage) != len(info.Damage) {
			t.Errorf("%s: as a stream %+v", c.name, s)
		}
	}
}

func TestStreamOfFrames(t *testing.T) {
	_, data, heads := frames(t, 3000)
	recs := busy(3000, later, 1)
	r, err := OpenReader(iotest.HalfReader(bytes.NewReader(data)))
	if err != nil {
		t.Fatal(err)
	}
	same(t, all(t, r), recs)
	if info := r.Info(); info.Records != 3000 || info.Torn || info.Sessions != 1 || !info.Stream {
		t.Errorf("%+v", info)
	}
	for _, err := range r.All() {
		if !errors.Is(err, ErrStream) {
			t.Error(err)
		}
	}
	bad := bytes.Clone(data[:heads[3]+300])
	bad[heads[1]+headLen+50] ^= 1
	bad[heads[2]+3] ^= 1
	if r, err = OpenReader(bytes.NewReader(bad)); err != nil {
		t.Fatal(err)
	}
	items := all(t, r)
	if info := r.Info(); uint64(len(items)) != lastSeqOf(t, data, 0) || !info.Torn || info.Skipped == 0 || len(info.Damage) == 0 {
		t.Errorf("%d %+v", len(items), info)
	}
}

// TestStreamAsItComes: records are read before the stream ends.
func TestStreamAsItComes(t *testing.T) {
	in, out := io.Pipe()
	recs := busy(3, later, 1)
	go func() { _, _ = io.WriteString(out, asLines(t, recs[:2])) }()
	r, err := OpenReader(in)
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Scan(0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Next(nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, recs[:2])
	go func() { _, _ = io.WriteString(out, asLines(t, recs[2:])); out.Close() }()
	if got, err = s.Next(nil); err != nil {
		t.Fatal(err)
	}
	same(t, got, recs[2:])
	if _, err = s.Next(nil); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}
