package model

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestUsage(t *testing.T) {
	m := New(Options{})
	if u := m.Node().Usage; !u.At.IsZero() {
		t.Errorf("before any record: %+v", u)
	} else if _, ok := u.Share(); ok {
		t.Error("a share of nothing")
	}
	at := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	for _, e := range []*trace.Usage{
		{Interval: time.Second, CPU: time.Second, RSS: 1},
		{Interval: 10 * time.Second, CPU: 130 * time.Millisecond, RSS: 48 << 20},
	} {
		m.Apply(&trace.Record{Seq: 1, Time: at.UnixNano(), Event: e})
	}
	u := m.Node().Usage
	if share, ok := u.Share(); !ok || share != 0.013 || u.RSS != 48<<20 || !u.At.Equal(at) {
		t.Errorf("got %+v, share %v", u, share)
	}
}
