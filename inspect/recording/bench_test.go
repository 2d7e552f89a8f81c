package recording

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// BenchmarkWrite measures the cost of a record for the recorder, and its size.
func BenchmarkWrite(b *testing.B) {
	recs := busy(12000, later, 1)
	for name, opt := range map[string]Options{"all": {MaxBytes: 1 << 40}, "no-bodies": {MaxBytes: 1 << 40, NoBodies: true}} {
		b.Run(name, func(b *testing.B) {
			p := path(b)
			w, err := Create(p, opt)
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				for i := 0; i < len(recs); i += 1000 {
					if err := w.Write(recs[i:i+1000], 0); err != nil {
						b.Fatal(err)
					}
				}
				n += len(recs)
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
			st, err := os.Stat(p)
			if err != nil {
				b.Fatal(err)
			}
			perRecord(b, n)
			b.ReportMetric(float64(st.Size())/float64(n), "B/record")
		})
	}
}

func perRecord(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/record")
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "records/s")
}

// million writes a recording of n records.
func million(b *testing.B, n int) string {
	p := path(b)
	w, err := Create(p, Options{MaxBytes: 1 << 40})
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; i < n; i += 10000 {
		if err := w.Write(busy(10000, later.Add(time.Duration(i)*2*time.Millisecond), uint64(i+1)), 0); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return p
}

// BenchmarkMillion opens, reads and searches a recording of a million records.
func BenchmarkMillion(b *testing.B) {
	const n = 1_000_000
	p := million(b, n)
	st, err := os.Stat(p)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			r, err := Open(p)
			if err != nil {
				b.Fatal(err)
			}
			r.Close()
		}
		b.ReportMetric(float64(st.Size())/(1<<20), "MiB-file")
	})
	b.Run("read", func(b *testing.B) {
		read := 0
		var most uint64
		for b.Loop() {
			r, err := Open(p)
			if err != nil {
				b.Fatal(err)
			}
			for range r.All() {
				if read++; read%(n/8) == 0 {
					most = max(most, heap())
				}
			}
			r.Close()
		}
		perRecord(b, read)
		b.ReportMetric(float64(most)/(1<<20), "MiB-heap")
	})
	b.Run("since", func(b *testing.B) { // its last second
		r, err := Open(p)
		if err != nil {
			b.Fatal(err)
		}
		defer r.Close()
		from := later.Add((n - 500) * 2 * time.Millisecond)
		for b.Loop() {
			got := 0
			for range r.Since(from) {
				got++
			}
			if got != 500 {
				b.Fatal(got)
			}
		}
	})
}

// heap returns the size of the live heap in bytes.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkRun measures the cost for a busy bus: publishing with a recorder that follows.
func BenchmarkRun(b *testing.B) {
	for name, recorded := range map[string]bool{"alone": false, "recorded": true} {
		b.Run(name, func(b *testing.B) {
			bus := trace.NewBus(0)
			if recorded {
				w, err := Create(path(b), Options{})
				if err != nil {
					b.Fatal(err)
				}
				cur, done := bus.Subscribe(trace.FromNow), make(chan error, 1)
				go func() { done <- w.Run(b.Context(), cur) }()
				defer func() {
					cur.Close()
					if err := <-done; err != nil {
						b.Error(err)
					}
					w.Close()
				}()
			}
			for b.Loop() {
				trace.Point(bus, trace.Span{}, trace.Wait{For: trace.WaitQueue, Target: trace.Target{Kind: trace.TargetOther, Name: "a place among 4 runtime calls"}})
			}
		})
	}
}
