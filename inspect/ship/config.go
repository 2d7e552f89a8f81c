package ship

import (
	"cmp"
	"context"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Slow is how long a start or a sync takes that is always sent. It is the target of Kubernetes' start latency SLO.
const Slow = 5 * time.Second

const (
	// settle is how long after the end of something its tree is made: the runtime sends its spans every five seconds.
	settle = 8 * time.Second
	// unfinished is how long a start has until it is sent as it is; the rest is sent when it is there.
	unfinished = 5 * time.Minute
	// tick is how often the bus is read where nothing hurries.
	tick = 5 * time.Second
	// about is how often counts are published while they change.
	about = time.Minute
)

const (
	maxTree       = 1000        // spans of a tree
	maxQueue      = 16384       // spans in the queue
	maxQueueBytes = 8 << 20     // their size as they are kept
	maxSend       = 1024        // spans of a request, unless one tree has more
	maxSendBytes  = 1 << 20     // the size of a request, unless one tree has more
	minSendBytes  = 16 << 10    // to which that shrinks while answers do not come in time
	maxDue        = 4096        // starts, syncs and runs of the garbage collection that wait to be made
	maxStore      = 32 << 20    // bytes of records that are kept
	syncEvery     = time.Second // how often a slow or failed sync is sent, on average
	syncBurst     = 20
)

// Outcome is the result of one request.
type Outcome struct {
	// Err is why the request failed; nil if it did not.
	Err error
	// Retry says that the same request may succeed later, After is how long the receiver wants to be left alone.
	Retry bool
	After time.Duration
	// Late says that there was no answer in time: a smaller request may succeed.
	Late bool
	// Rejected is how many spans of a successful request the receiver rejected, Why its reason.
	Rejected int64
	Why      string
}

// Uploader sends one request. It must return when ctx ends.
type Uploader interface {
	Upload(ctx context.Context, spans []*tracepb.ResourceSpans) Outcome
}

// Start is what is known of a finished start, or of one that takes long.
type Start struct {
	Trace   trace.TraceID
	Outcome string // ready, started, failed or unfinished
	Took    time.Duration
	// Causes are found of slow, failed and sent starts only.
	Causes []cause.Finding
	// Sent says that its spans are sent, with the id Trace.
	Sent bool
	// Phases are the actions of the start, by verb; Waits are the total time of each kind of wait on its critical path.
	Phases, Waits []Part
	// Again says that an earlier Start was about the same one, which was unfinished then.
	Again bool
}

// Part is a part of a start.
type Part struct {
	Name string
	Dur  time.Duration
}

// Config is the configuration of a Shipper.
type Config struct {
	// Bus is where records are read from and SpanExport is published.
	Bus *trace.Bus
	// Node and Version are those of the sender. An Agent record on the bus with the node's name replaces Node.
	Node, Version string
	// Endpoint is the receiver's address, for people.
	Endpoint string
	// Uploader sends; nil means that nothing is sent, and only Explained is called.
	Uploader Uploader
	// PerMillion is how many of a million ordinary starts are sent, and runs of the garbage collection that found nothing to do.
	PerMillion int32
	// Explained is called for each start, from the goroutine that reads the bus; it may be nil.
	Explained func(Start)
	// Flush is how long, at the end, making the last spans and sending the queue may take, each; 3 s if 0.
	Flush time.Duration
}

func (c Config) withDefaults() Config {
	c.Flush = cmp.Or(c.Flush, 3*time.Second)
	return c
}
