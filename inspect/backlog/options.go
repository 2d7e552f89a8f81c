package backlog

import (
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
)

// Options are the limits on what is kept. 0 means the default, which is at least what inspect/model shows of starts.
type Options struct {
	Pods      int           // pods in total, the least recently mentioned ones are dropped first; 4096
	PerRun    int           // records that explain a pod's run, as defined by inspect/evidence; 4096
	Node      int           // records that explain what the node did at the same time; 32768
	Gone      int           // pods that are gone; 100
	GoneFor   time.Duration // how long those are kept, in the stream's time; 15 minutes
	Loops     int           // loop iterations; 64
	Calls     int           // calls to the runtime, and as many to the API server; 1000
	Decisions int           // verdicts, besides those of the passes kept; 300
	Passes    int           // garbage collection passes; 16
	Lines     int           // records that become log lines, and as many warnings and errors; 200
	Open      int           // operations that have begun and not ended; 8192
	Bytes     int           // of all records; 64 MiB. What late readers need least is dropped first, and reported to them as lost
}

func (o Options) withDefaults() Options {
	set := func(v *int, def int) {
		if *v <= 0 {
			*v = def
		}
	}
	set(&o.Pods, 4096)
	set(&o.PerRun, evidence.PerRun)
	set(&o.Node, 1<<15)
	set(&o.Gone, 100)
	set(&o.Loops, 64)
	set(&o.Calls, 1000)
	set(&o.Decisions, 300)
	set(&o.Passes, 16)
	set(&o.Lines, 200)
	set(&o.Open, 8192)
	set(&o.Bytes, 64<<20)
	if o.GoneFor <= 0 {
		o.GoneFor = 15 * time.Minute
	}
	return o
}
