package model

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/inspect/internal/ring"
	"github.com/kubeloupe/kubeloupe/trace"
)

// API is the state of the agent's connection to the API server.
type API struct {
	Calls, Errors int       // finished
	OK            time.Time // the last response without a failure of the server; zero: none seen
	// Failing counts consecutive failures: no response, 429 and 5xx. Since is the end of the first one.
	Failing int
	Since   time.Time
	// Err is the last failure, of Call at Failed; "" if there was none. Seq is its record's number.
	Err    string
	Call   string
	Failed time.Time
	Seq    uint64
	// Watches is the number of watches known to be open.
	Watches int
	Open    int         // running requests
	Waits   []Wait      // current: throttling, back-offs, approvals
	Waited  []WaitTotal // of the finished ones
}

// NodeWrite is one write of the node's object.
type NodeWrite struct {
	trace.NodeStatus
	At  time.Time // its end; zero: none seen
	Dur time.Duration
	Seq uint64 // its record's number
}

// NodeObject is the known state of the node's object in the API.
type NodeObject struct {
	Registered NodeWrite // the last registration
	Last       NodeWrite // the last write, whatever its result
	Good       NodeWrite // the last successful one
	Writes     int
	Errors     int
	// Lease is when the node's lease was last renewed, Renewals how often; LeaseErr is the error of the last attempt, LeaseSeq the number
	// of the last record about it.
	Lease    time.Time
	Renewals int
	LeaseErr string
	LeaseSeq uint64
}

// api is an API being folded.
type api struct {
	API
	waits   waits
	open    map[trace.SpanID]string
	watches map[trace.SpanID]bool
	samples ring.Ring[sample]
}

func newAPI(samples int) api {
	return api{
		waits: newWaits(), open: map[trace.SpanID]string{}, watches: map[trace.SpanID]bool{}, samples: ring.New[sample](samples),
	}
}

// nodeWrites is a NodeObject being folded.
type nodeWrites struct{ NodeObject }

// maxWatches limits how many open watches are kept: their ends may be lost.
const maxWatches = 4096

// unrepeated is how long after its last failure a connection counts as failing, if no record would show a success: a kubelet's log has
// failures only.
const unrepeated = time.Minute

// API returns the state of the agent's connection to the API server.
func (m *Model) API() API {
	out := m.api.API
	if m.node.SeenBy.Foreign() && m.node.Last.Sub(out.Failed) > unrepeated {
		out.Failing, out.Since = 0, time.Time{}
	}
	out.Watches, out.Open = len(m.api.watches), len(m.api.open)
	out.Waits, out.Waited = m.api.waits.now(), m.api.waits.over()
	return out
}

// NodeObject returns the known state of the node's object in the API.
func (m *Model) NodeObject() NodeObject { return m.nodes.NodeObject }

// Requests returns figures of the minute before now for each verb and resource, by name.
func (m *Model) Requests(now time.Time) []Method {
	open := map[string]int{}
	for _, name := range m.api.open {
		open[name]++
	}
	return figures(&m.api.samples, open, now)
}

func (m *Model) applyAPICall(r *trace.Record, e *trace.APICall) {
	a, name := &m.api, string(e.Verb)+" "+e.Resource
	switch {
	case e.Ended: // a point below the watch's span
		delete(a.watches, r.Parent)
		return
	case r.Edge == trace.EdgeBegin:
		a.open[r.Span] = name
		id := r.Span
		m.begin(func() { delete(a.open, id) }, nil)
		return
	}
	m.end()
	a.Calls++
	failed := evidence.Refused(e)
	a.samples.Push(sample{method: name, end: r.Time, dur: r.Dur, failed: failed})
	if failed {
		a.Errors++
	}
	if e.Verb == trace.APIWatch && !failed && len(a.watches) < maxWatches {
		a.watches[r.Span] = true
	}
	a.health(r, e)
	m.lease(r, e)
}

func (a *api) health(r *trace.Record, e *trace.APICall) {
	switch evidence.Health(e) {
	case evidence.NoAnswer:
		return
	case evidence.Answered:
		a.OK, a.Failing, a.Since = r.At(), 0, time.Time{}
		return
	case evidence.Unhealthy:
	}
	if a.Failing++; a.Failing == 1 {
		a.Since = r.At()
	}
	a.Err = cmp.Or(e.Err, "status "+strconv.Itoa(e.Code))
	a.Call, a.Failed = strings.TrimSpace(string(e.Verb)+" "+e.Resource+" "+strings.Trim(e.Namespace+"/"+e.Name, "/")), r.At()
	a.Seq = r.Seq
}

func (m *Model) lease(r *trace.Record, e *trace.APICall) {
	n := &m.nodes
	switch says, renewed := evidence.Lease(e); {
	case renewed:
		n.Lease, n.LeaseErr, n.LeaseSeq = r.At(), "", r.Seq
		n.Renewals++
	case says:
		n.LeaseErr, n.LeaseSeq = trace.Failure(e), r.Seq
	}
}

func (m *Model) applyNodeStatus(r *trace.Record, e *trace.NodeStatus) {
	if r.Edge == trace.EdgeBegin {
		return
	}
	n := &m.nodes
	n.Writes++
	n.Last = NodeWrite{NodeStatus: *e, At: r.At(), Dur: r.Dur, Seq: r.Seq}
	if e.Err != "" {
		n.Errors++
		return
	}
	n.Good = n.Last
	if e.Op != trace.NodePatch {
		n.Registered = n.Last
	}
}

// applyNodeWait adds waits of the node that are about the API server.
func (m *Model) applyNodeWait(r *trace.Record, e *trace.Wait) {
	switch {
	case e.For == trace.WaitBackoff && e.Target.Kind == trace.TargetAddress: // the source of pods is shown there
		m.applyWait(r, e, &m.urls)
	case slices.Contains([]trace.WaitKind{trace.WaitTokens, trace.WaitBackoff, trace.WaitApproval, trace.WaitObject}, e.For):
		m.applyWait(r, e, &m.api.waits)
	}
}
