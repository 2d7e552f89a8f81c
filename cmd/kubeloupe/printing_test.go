package main

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestPrintUntil has a reader read slowly, or not at all, when printing is to end: the one gets all, the other is not waited for.
func TestPrintUntil(t *testing.T) {
	const records = 100
	for name, slow := range map[string]bool{"slow": true, "stopped": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bus := trace.NewBus(1024)
				for range records {
					trace.Point(bus, trace.Span{}, trace.Log{Message: strings.Repeat("x", 4096)})
				}
				cur := bus.Subscribe(trace.FromOldest)
				defer cur.Close()
				r, w := io.Pipe()
				lines := 0
				var reader sync.WaitGroup
				if slow {
					reader.Go(func() {
						for buf := make([]byte, 4096); ; time.Sleep(lastWords / 10) {
							n, err := r.Read(buf)
							lines += strings.Count(string(buf[:n]), "\n")
							if err != nil {
								return
							}
						}
					})
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				began := time.Now()
				if err := printUntil(ctx, cur, sinkFor("json", w)); err != nil {
					t.Error(err)
				}
				took := time.Since(began)
				w.Close()
				reader.Wait()
				r.Close()
				synctest.Wait() // the printer that was left has ended, too
				if slow && lines != records || !slow && took > 2*lastWords {
					t.Errorf("it took %v, and %d of %d records were read", took, lines, records)
				}
			})
		})
	}
}
