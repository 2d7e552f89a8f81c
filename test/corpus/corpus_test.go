package corpus_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/export"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/rank"
	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/inspect/report"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace"
)

var update = flag.Bool("update", false, "write what is said of the recordings anew")

// parts is at how many points of a recording it is asked: the last is its end.
const parts = 2

func TestMain(m *testing.M) {
	time.Local = time.UTC // reports have times of the reader's zone
	os.Exit(m.Run())
}

// TestSaid compares what is said of each recording with what was said.
func TestSaid(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.klr")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".klr"), func(t *testing.T) {
			t.Parallel()
			recs := read(t, file)
			var out bytes.Buffer
			for part := 1; part <= parts; part++ {
				say(t, &out, fmt.Sprintf("%d/%d", part, parts), recs[:len(recs)*part/parts])
			}
			golden := strings.TrimSuffix(file, ".klr") + ".said.json"
			if *update {
				if err := os.WriteFile(golden, out.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(out.String(), "\n")); diff != "" {
				t.Errorf("what is said changed (-want +got):\n%s", diff)
			}
		})
	}
}

// item is a record, and how many are missing before it.
type item struct {
	rec  trace.Record
	lost uint64
}

func read(t *testing.T, file string) (out []item) {
	t.Helper()
	r, err := recording.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, item{i.Rec, i.Lost})
	}
	return out
}

// say writes what why, trace and inspect have to say of records, one JSON value a line.
func say(t *testing.T, out io.Writer, at string, items []item) {
	t.Helper()
	s, m := session.New(session.Options{}), model.New(model.Options{})
	for i := range items {
		s.Lost(items[i].lost)
		m.Lost(items[i].lost)
		s.Apply(&items[i].rec)
		m.Apply(&items[i].rec)
	}
	now := s.Last()
	line := func(what string, write func(w io.Writer) error) {
		t.Helper()
		var text, one bytes.Buffer
		if err := write(&text); err != nil {
			t.Fatalf("%s %s: %v", at, what, err)
		}
		if err := json.Compact(&one, text.Bytes()); err != nil {
			t.Fatalf("%s %s: %v: %s", at, what, err, text.String())
		}
		fmt.Fprintf(out, "{\"at\":%q,\"what\":%q,\"said\":%s}\n", at, what, one.Bytes())
	}
	var starts []rank.Start
	for l, c := range s.Cases(now) {
		name := fmt.Sprintf("%s#%d", l.Pod, l.N)
		line("why "+name, func(w io.Writer) error { return json.NewEncoder(w).Encode(why.Explain(c)) })
		if f, err := l.Waterfall(now); err == nil {
			starts = append(starts, rank.Of(f))
			line("trace "+name, func(w io.Writer) error { return export.JSON(w, f) })
		}
	}
	line("trace --all", func(w io.Writer) error {
		r, err := rank.Rank(starts, rank.Options{})
		if err != nil {
			return err
		}
		return rank.JSON(w, r)
	})
	for _, sub := range report.Subjects() {
		if sub.Live {
			continue
		}
		pods := []string{""}
		if sub.Name == "pod" {
			pods = pods[:0]
			for _, l := range s.Runs() {
				pods = append(pods, l.Pod.String())
			}
		}
		for _, pod := range pods {
			table, err := report.Make(sub.Name, m, report.Args{Pod: pod, Now: now})
			if err != nil {
				continue // what it says to people is no analysis
			}
			line(strings.TrimSpace("inspect "+sub.Name+" "+pod), func(w io.Writer) error { return report.Write(w, table, report.JSON, 0) })
		}
	}
}
