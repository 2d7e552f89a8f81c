package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestLossesKeepTheirPlace: what is missing in a recording is told where it is missing.
func TestLossesKeepTheirPlace(t *testing.T) {
	losses := []uint64{2, 0, 3, 4, 0}
	i := 0
	f := &fromFile{next: func() (recording.Item, error, bool) {
		if i == len(losses) {
			return recording.Item{}, nil, false
		}
		i++
		return recording.Item{Rec: trace.Record{Seq: uint64(i)}, Lost: losses[i-1]}, nil, true
	}}
	got := map[uint64]uint64{}
	buf := make([]trace.Record, 0, 64)
	for {
		recs, lost, err := f.Next(t.Context(), buf)
		if len(recs) > 0 {
			got[recs[0].Seq] = lost
		}
		if err != nil {
			break
		}
	}
	if d := cmp.Diff(map[uint64]uint64{1: 2, 3: 3, 4: 4}, got); d != "" {
		t.Errorf("losses by the record after them (-want +got):\n%s", d)
	}
}
