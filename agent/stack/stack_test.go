package stack

import (
	"sync"
	"testing"
)

// deep needs n KiB of stack in frames of about 200 bytes.
//
//go:noinline
func deep(n int) int {
	var frame [160]byte
	frame[n%len(frame)] = byte(n)
	if n == 0 {
		return int(frame[0])
	}
	return deep(n-1) + int(frame[n%len(frame)])
}

// BenchmarkGoroutine makes calls in a goroutine that need 12 KiB of stack.
func BenchmarkGoroutine(b *testing.B) {
	for name, grow := range map[string]func(){"grown": Grow, "as it is": func() {}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var wg sync.WaitGroup
				wg.Go(func() {
					grow()
					deep(60)
				})
				wg.Wait()
			}
		})
	}
}

func TestGrow(t *testing.T) {
	if n := testing.AllocsPerRun(100, Grow); n != 0 {
		t.Errorf("%v allocations: the frame is not on the stack", n)
	}
}
