package model

// Options limit what a Model keeps. Zero fields mean the defaults.
type Options struct {
	Pods      int // pods in total; the least recently updated is removed first; 4096
	Loops     int // loop iterations; 500
	Calls     int // CRI calls with their bodies; 2000
	Samples   int // finished CRI calls without bodies, for Methods; 16384
	Decisions int // decisions; 1000
	Passes    int // garbage collection passes; 50
	Lines     int // log lines, of which a quarter are warnings and errors; 1000
	Gone      int // pods that are gone; 100
	Starts    int // finished starts, for percentiles and the slowest; 1000
	Runs      int // runs of pods whose records are kept; 4096
	Over      int // finished ones of these; 256
	PerRun    int // records kept of a run: half of them the first, half the newest; 800
	Records   int // records of the node itself; 8192
	Recent    int // last records, unchanged; none
	Open      int // begins without ends; 8192
	Bytes     int // total size, approximate; 256 MiB. Old histories and the largest pods are cut, then the least recently updated pods are removed
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
	set(&o.Runs, 4096)
	set(&o.Over, 256)
	set(&o.PerRun, 800)
	set(&o.Records, 1<<13)
	set(&o.Open, 8192)
	set(&o.Bytes, 256<<20)
	return o
}
