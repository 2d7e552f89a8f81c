package recording

import (
	"strconv"

	"github.com/kubeloupe/kubeloupe/trace"
)

const lostKey = "lost"

// lostRecord returns a record that n records are missing before the next one. It has the same form as in JSON lines on
// stdout: a log with sequence number 0, which no published record has.
func lostRecord(n uint64, at int64) *trace.Record {
	count := strconv.FormatUint(n, 10)
	return &trace.Record{Time: at, Event: &trace.Log{
		Level: trace.LevelWarn, Message: count + " records were lost here", Attrs: []trace.KV{{K: lostKey, V: count}},
	}}
}

// lostIn returns the number in a record of lostRecord.
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
