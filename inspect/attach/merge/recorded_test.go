package merge_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/containerdlog"
	"github.com/kubeloupe/kubeloupe/inspect/attach/kubeletlog"
	"github.com/kubeloupe/kubeloupe/inspect/attach/logfile"
	"github.com/kubeloupe/kubeloupe/inspect/attach/merge"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/trace"
)

func open(t *testing.T, name string) io.Reader {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "kubeletlog", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// kubelet are the records of a kubelet's log of the lab.
func kubelet(t *testing.T, name string) (out []trace.Record) {
	t.Helper()
	r, err := logfile.NewReader(open(t, name), logfile.Options{Zone: time.UTC, Latest: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	src := kubeletlog.NewSource(r)
	for {
		recs, _, err := src.Next(context.Background(), make([]trace.Record, 0, 512))
		out = append(out, recs...)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// runtime are the records of a containerd's log of the lab.
func runtime(t *testing.T, name string) (out []trace.Record) {
	t.Helper()
	f := containerdlog.NewFold(containerdlog.Options{})
	lines := bufio.NewScanner(open(t, name))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if l, ok := containerdlog.ParseLine(lines.Text()); ok {
			f.Apply(&l)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	f.Flush()
	for {
		r, _, ok := f.Next(true)
		if !ok {
			return out
		}
		out = append(out, r)
	}
}

// merged is one stream of several.
func merged(all ...[]trace.Record) (out []trace.Record, rep merge.Report) {
	return mergedWithin(0, all...)
}

// mergedWithin merges with a window.
func mergedWithin(window time.Duration, all ...[]trace.Record) (out []trace.Record, rep merge.Report) {
	m := merge.New(merge.Options{Window: window})
	var ins []*merge.Input
	for i := range all {
		ins = append(ins, m.Input())
		if len(all[i]) == 0 {
			ins[i].Close()
		}
	}
	for {
		first := -1
		for i := range all {
			if len(all[i]) > 0 && (first < 0 || all[i][0].Time < all[first][0].Time) {
				first = i
			}
		}
		if first >= 0 {
			ins[first].Put(all[first][0])
			if all[first] = all[first][1:]; len(all[first]) == 0 {
				ins[first].Close()
			}
		}
		for {
			r, _, ok := m.Next()
			if !ok {
				break
			}
			out = append(out, r)
		}
		if first < 0 {
			return out, m.Report()
		}
	}
}

// TestRecorded merges logs of the lab: each pod is one, nothing comes out of order, and what is unexplained is less than with one observer.
func TestRecorded(t *testing.T) {
	for _, level := range []string{"v2", "v3", "v4"} {
		t.Run(level, func(t *testing.T) {
			k, c := kubelet(t, level+".log.gz"), runtime(t, level+".containerd.log.gz")
			alone, _ := shares(t, k)
			both, rep := shares(t, k, c)
			if rep.Shared == 0 {
				t.Errorf("%+v: nothing is shared", rep)
			}
			for _, name := range []string{"web", "probed", "stubborn", "full"} {
				if both[name] > alone[name]+0.005 { // the runtime's log has the start a little earlier
					t.Errorf("%s: unexplained %.2f with both logs, %.2f with the kubelet's alone", name, both[name], alone[name])
				}
			}
			if len(both) != 7 {
				t.Errorf("%d pods, want 7: %v", len(both), both)
			}
		})
	}
}

// shares are how much of each pod's start is unexplained, by the pods' names.
func shares(t *testing.T, all ...[]trace.Record) (map[string]float64, merge.Report) {
	t.Helper()
	recs, rep := merged(all...)
	s := session.New(session.Options{})
	for i := range recs {
		if i > 0 && recs[i].Time < recs[i-1].Time {
			t.Errorf("record %d is %v older than the one before", i, time.Duration(recs[i-1].Time-recs[i].Time))
		}
		s.Apply(&recs[i])
	}
	out := map[string]float64{}
	for _, l := range s.Runs() {
		if w, err := l.Waterfall(s.Last()); err == nil && l.Pod.Namespace == "shop" {
			if _, twice := out[l.Pod.Name]; twice {
				t.Errorf("%v is there twice", l.Pod)
			}
			out[l.Pod.Name] = float64(w.Unexplained) / float64(max(w.Started, 1))
		}
	}
	return out, rep
}
