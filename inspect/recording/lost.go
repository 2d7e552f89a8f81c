package recording

import (
	"strconv"

	"github.com/kubeloupe/kubeloupe/trace"
)

const lostKey = "lost"

// lostRecord tells of n records that are missing before the next one. It has the
// form that JSON lines on stdout have too: a log with sequence number 0, which no
// published record has.
func lostRecord(n uint64, at int64) *trace.Record {
	count := strconv.FormatUint(n, 10)
	return &trace.Record{Time: at, Event: &trace.Log{
		Level: trace.LevelWarn, Message: count + " records were lost here", Attrs: []trace.KV{{K: lostKey, V: count}},
	}}
}

// lostIn returns what a record made by lostRecord tells.
func lostIn(r *trace.Record) (n uint64, ok bool) {
	log, ok := r.Event.(*trace.Log)
	if !ok || r.Seq != 0 {
		return 0, false
	}
	for _, a := range log.Attrs {
		if a.K == lostKey {
			n, err := strconv.ParseUint(a.V, 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
