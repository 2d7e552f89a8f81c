package replay

import (
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
)

// BenchmarkMillion plays a million records at the greatest speed, and jumps in them. The records
// are small; inspect/recording measures reading with realistic ones.
func BenchmarkMillion(b *testing.B) {
	const n = 1_000_000
	rd := points(b, n)
	buf := make([]trace.Record, 0, 512)
	b.Run("play", func(b *testing.B) {
		var m runtime.MemStats
		read := 0
		for b.Loop() {
			p := NewPlayer(rd, Config{Speed: Max, Once: true})
			for {
				recs, _, err := p.Next(b.Context(), buf)
				if errors.Is(err, io.EOF) {
					break
				}
				read += len(recs)
			}
			runtime.GC()
			runtime.ReadMemStats(&m)
		}
		b.ReportMetric(float64(read)/b.Elapsed().Seconds(), "records/s")
		b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MiB-heap")
	})
	b.Run("seek-back-to-half", func(b *testing.B) {
		p := NewPlayer(rd, Config{Paused: true})
		for b.Loop() {
			p.SeekSeq(n / 2)
			drain(b, p, buf, n/2)
			b.StopTimer() // a bit further, so that the next jump is back
			p.Step(1)
			drain(b, p, buf, n/2+1)
			b.StartTimer()
		}
	})
}

// drain reads until a record.
func drain(b *testing.B, p *Player, buf []trace.Record, seq uint64) {
	for {
		recs, _, err := p.Next(b.Context(), buf)
		if err != nil && !errors.Is(err, ErrRewound) {
			b.Fatal(err)
		}
		if len(recs) > 0 && recs[len(recs)-1].Seq == seq {
			return
		}
	}
}
