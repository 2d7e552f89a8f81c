package model

// Options bound what a Model remembers. Zero fields mean the defaults.
type Options struct {
	Pods      int // pods in all, the least recently heard of make room; 4096
	Loops     int // loop iterations; 500
	Calls     int // CRI calls with their bodies; 2000
	Samples   int // finished CRI calls without bodies, for Methods; 16384
	Decisions int // decisions; 1000
	Passes    int // garbage collection passes; 50
	Lines     int // log lines; 1000
	Gone      int // pods that are gone; 100
	Starts    int // finished starts, for percentiles and the slowest; 1000
	Kept      int // pods whose start's records are kept; 128
	PerStart  int // records kept per start, a few milestones aside; 400
	StartSize int // bytes of them, about; 512 KiB
	Open      int // spans begun and not ended; 8192
	Bytes     int // in all, about; 256 MiB. Old histories and the pods that take most are cut short, then the quietest are forgotten
}

func (o Options) withDefaults() Options {
	set := func(v *int, def int) {
		if *v <= 0 {
			*v = def
		}
	}
	set(&o.Pods, 4096)
	set(&o.Loops, 500)
	set(&o.Calls, 2000)
	set(&o.Samples, 1<<14)
	set(&o.Decisions, 1000)
	set(&o.Passes, 50)
	set(&o.Lines, 1000)
	set(&o.Gone, 100)
	set(&o.Starts, 1000)
	set(&o.Kept, 128)
	set(&o.PerStart, 400)
	set(&o.StartSize, 512<<10)
	set(&o.Open, 8192)
	set(&o.Bytes, 256<<20)
	return o
}
