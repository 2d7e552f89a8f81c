package trace

import "testing"

func BenchmarkPublish(b *testing.B) {
	for _, c := range []struct {
		name  string
		setup func(*Bus)
	}{
		{"no reader", func(*Bus) {}},
		{"stuck reader", func(bus *Bus) { bus.Subscribe(FromOldest) }},
		{"waiting reader", func(bus *Bus) { bus.Subscribe(FromNow).Poll(make([]Record, 0, 1)) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			bus := NewBus(1024)
			c.setup(bus)
			parent := Span{Trace: NewTraceID(), ID: NewSpanID(), Pod: Pod{"shop", "cart", "9f"}}
			for range 4096 { // fill every slot with a box of each kind
				Point(bus, parent, Wait{For: WaitQueue, Target: Target{Kind: TargetRuntimeSlots}})
				Point(bus, parent, CgroupOp{Op: "ensure", Path: "/kubepods"})
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%2 == 0 {
					Point(bus, parent, Wait{For: WaitQueue, Target: Target{Kind: TargetRuntimeSlots}})
				} else {
					Point(bus, parent, CgroupOp{Op: "ensure", Path: "/kubepods"})
				}
			}
		})
	}
	b.Run("nil bus", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Point(nil, Span{}, Wait{For: WaitQueue})
		}
	})
}
