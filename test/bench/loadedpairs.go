package main

import (
	"context"
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/test/interval"
)

// What a burst may cost of the loaded floor.
const (
	startReach = 1.10
	endReach   = 1.15
)

// tries is how often each width is tried before the pairs, to choose the floor's.
const tries = 2

// loadedPairs compares bursts with the loaded floor in pairs, one right after the other, in random order. The floor's widths are chosen before, by
// bursts that do not count: the best of what is compared would be the luckiest.
func (c *clusterBench) loadedPairs(ctx context.Context, size int) error {
	width, ends, err := c.chooseWidths(ctx, size)
	if err != nil {
		return fmt.Errorf("the floor's widths: %w", err)
	}
	var floors, ours []burst
	began := time.Now()
	for _, first := range orders(c.o.n) {
		for _, floor := range []bool{first, !first} {
			if floor {
				b, err := c.loadedFloor(ctx, size, width, ends)
				if err != nil {
					return fmt.Errorf("loaded floor: %w", err)
				}
				floors = append(floors, b)
				continue
			}
			b, err := c.agentBurst(ctx, size, settleTime)
			if err != nil {
				return err
			}
			ours = append(ours, b)
		}
	}
	fmt.Printf("%d pods at once, beside the loaded floor with %d at a time, ends with %d: %d pairs in %s\n", size, width, ends, c.o.n, time.Since(began).Round(time.Second))
	for _, l := range []struct {
		title string
		of    func(burst) time.Duration
		reach float64
	}{
		{"median started", func(b burst) time.Duration { return b.median }, startReach},
		{"last started", func(b burst) time.Duration { return b.last }, startReach},
		{"deleted, last gone", func(b burst) time.Duration { return b.gone }, endReach},
	} {
		base, with := spans(floors, l.of), spans(ours, l.of)
		i := interval.Of(millis(base), millis(with))
		fmt.Printf("  %-20s %6s %6s  %s  ≤ %.2f %s\n", l.title, ms(p50(base)), ms(p50(with)), i, l.reach, i.Verdict(l.reach))
	}
	return nil
}

// chooseWidths tries the widths of the loaded floor, and returns those with which the starts and the ends took least.
func (c *clusterBench) chooseWidths(ctx context.Context, size int) (width, ends int, err error) {
	starts, gone := map[int]time.Duration{}, map[int]time.Duration{}
	for n := range tries {
		for i, w := range widths() {
			e := w
			if (n+i)%2 == 0 {
				e = size
			}
			b, err := c.loadedFloor(ctx, size, w, e)
			if err != nil {
				return 0, 0, err
			}
			starts[w] += b.median + b.last
			if gone[e] == 0 || b.gone < gone[e] {
				gone[e] = b.gone
			}
		}
	}
	return least(starts), least(gone), nil
}

// least returns the key with the least value.
func least(of map[int]time.Duration) (best int) {
	for k, d := range of {
		if best == 0 || d < of[best] || d == of[best] && k < best {
			best = k
		}
	}
	return best
}

func spans(all []burst, of func(burst) time.Duration) []time.Duration {
	out := make([]time.Duration, len(all))
	for i := range all {
		out[i] = of(all[i])
	}
	return out
}
