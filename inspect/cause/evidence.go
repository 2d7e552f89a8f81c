package cause

import (
	"fmt"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
)

// maxEvidence bounds the records that one finding names.
const maxEvidence = 8

// evidence says what a record shows.
func evidence(r *trace.Record, format string, args ...any) Evidence {
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	return Evidence{Seq: r.Seq, Time: r.At(), Text: noise.Of(text)}
}

// few keeps the first records of long evidence and the last, which mostly says how it stands.
func few(all []Evidence) []Evidence {
	if len(all) <= maxEvidence {
		return all
	}
	return append(all[:maxEvidence-1:maxEvidence-1], all[len(all)-1])
}
