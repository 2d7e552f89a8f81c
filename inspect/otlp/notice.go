package otlp

import (
	"strconv"
	"sync"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// noticeEvery is the minimum interval between equal warnings.
const noticeEvery = time.Minute

// notice is a warning that is published when it first occurs, and then, at most once a minute, with the number of
// occurrences.
type notice struct {
	mu   sync.Mutex
	last time.Time
	n    uint64
}

func (n *notice) tell(bus *trace.Bus, message string) {
	n.mu.Lock()
	n.n++
	count, told := n.n, !n.last.IsZero() && time.Since(n.last) < noticeEvery
	if !told {
		n.last = time.Now()
	}
	n.mu.Unlock()
	if !told {
		trace.Point(bus, trace.Span{}, trace.Log{Level: trace.LevelWarn, Message: message, Attrs: []trace.KV{{K: "count", V: strconv.FormatUint(count, 10)}}})
	}
}
