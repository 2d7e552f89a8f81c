package model_test

import (
	"path/filepath"
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/trace"
)

// BenchmarkApplyRecorded applies recordings of agents, each to a new model.
func BenchmarkApplyRecorded(b *testing.B) {
	files, err := filepath.Glob("../../tui/testdata/recordings/*.klr")
	if err != nil || len(files) == 0 {
		b.Fatalf("%d recordings, %v", len(files), err)
	}
	var recs [][]trace.Record
	n := 0
	for _, file := range files {
		r, err := recording.Open(file)
		if err != nil {
			b.Fatal(err)
		}
		var all []trace.Record
		for it, err := range r.All() {
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, it.Rec)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
		recs, n = append(recs, all), n+len(all)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, all := range recs {
			m := model.New(model.Options{})
			for i := range all {
				m.Apply(&all[i])
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/record")
	b.ReportMetric(float64(n), "records")
}
