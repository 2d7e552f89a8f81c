package model

import (
	"container/list"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/internal/ring"
	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Model is the state of the node according to the records. Create it with New.
//
// Many fields: one for each kind of object on a node, and their limits.
type Model struct {
	opt  Options
	came int // total size in bytes at the last weighing, and of all records since
	node Node
	rate rate

	pods  map[trace.Pod]*pod
	heard *list.List // the pods, least recently updated first
	gone  ring.Ring[trace.Pod]

	loops    ring.Ring[*loop]
	loopOf   map[trace.SpanID]*loop
	calls    ring.Ring[*Call]
	inFlight map[trace.SpanID]*Call
	samples  ring.Ring[sample]
	used     ring.Ring[*Usage]

	passes    ring.Ring[*Pass]
	passOf    map[trace.SpanID]*Pass
	decisions ring.Ring[Decision]
	pressure  map[string]Pressure
	eviction  Eviction
	lines     ring.Ring[Line]
	alarms    ring.Ring[Line] // warnings and errors, which other lines must not evict
	sources   sourceErrors

	origins    map[string]Source               // sources of pods, by name
	urls       waits                           // for sources at URLs
	pressed    map[string]*ring.Ring[Pressure] // by signal
	short      map[string]Decision             // by signal
	conditions map[string]Condition            // of the node, by type
	// certificates are the agent's own, by use.
	certificates map[trace.CertificateUse]Certificate

	res    resources
	api    api
	nodes  nodeWrites
	starts ring.Ring[*Start]
	kept   *store.Store   // the records of runs, and what is open
	now    *store.Item    // the record that is being applied
	place  []trace.Record // for the records of a start that is being explained
}

// New returns an empty model.
func New(opt Options) *Model {
	opt = opt.withDefaults()
	return &Model{
		opt:  opt,
		pods: map[trace.Pod]*pod{}, heard: list.New(), gone: ring.New[trace.Pod](opt.Gone),
		loops: ring.New[*loop](opt.Loops), loopOf: map[trace.SpanID]*loop{},
		calls: ring.New[*Call](opt.Calls), inFlight: map[trace.SpanID]*Call{},
		samples: ring.New[sample](opt.Samples), used: ring.New[*Usage](usages),
		passes: ring.New[*Pass](opt.Passes), passOf: map[trace.SpanID]*Pass{},
		decisions: ring.New[Decision](opt.Decisions),
		pressure:  map[string]Pressure{}, lines: ring.New[Line](opt.Lines - opt.Lines/4), alarms: ring.New[Line](max(opt.Lines/4, 1)),
		sources: sourceErrors{}, starts: ring.New[*Start](opt.Starts),
		res: newResources(), api: newAPI(opt.Samples), origins: map[string]Source{}, urls: newWaits(), pressed: map[string]*ring.Ring[Pressure]{},
		kept: store.New(store.Policy{
			Runs: opt.Runs, Over: opt.Over, First: opt.PerRun / 2, Newest: opt.PerRun - opt.PerRun/2, Node: opt.Records, Recent: opt.Recent, Open: opt.Open, Traces: 4 * opt.Runs,
			Patches: true, Straight: true,
		}),
		short: map[string]Decision{}, conditions: map[string]Condition{}, certificates: map[trace.CertificateUse]Certificate{},
	}
}

// Apply adds one record. Records must be in the order of their sequence numbers. The model keeps r.Event, so the caller
// must not change it afterwards; a Cursor's records are the reader's own.
func (m *Model) Apply(r *trace.Record) {
	if r == nil || r.Event == nil {
		return
	}
	kept, _ := m.kept.Take(r)
	m.now = kept
	m.node.count(r)
	m.rate.count(r.Time)
	var p *pod
	if !r.Pod.IsZero() {
		p = m.podFor(r.Pod)
	}
	m.countChild(r)
	switch e := r.Event.(type) {
	case *trace.Agent:
		m.applyAgent(r, e)
	case *trace.Loop:
		m.applyLoop(r, e)
	case *trace.CRICall:
		m.applyCall(r, e)
	case *trace.GC:
		m.applyGC(r, e)
	case *trace.Decision:
		m.applyDecision(r, e, p)
		m.judged(r, e)
	case *trace.Pressure:
		m.applyPressure(r, e)
	case *trace.Eviction:
		m.eviction = Eviction{At: r.At(), Seq: r.Seq, Eviction: *e}
	case *trace.Shutdown:
		m.node.shutdown(r, e)
	case *trace.ClockStepped:
		m.clockStepped(e)
	case *trace.Usage:
		m.node.Usage = Usage{At: r.At(), Usage: *e}
		m.used.Push(new(m.node.Usage))
	case *trace.NodeDescribed:
		m.node.Described = Described{NodeDescribed: *e, At: r.At()}
	case *trace.RuntimeDescribed:
		m.node.Handlers = Handlers{RuntimeDescribed: *e, At: r.At()}
	case *trace.Certificate:
		m.applyCertificate(r, e)
	case *trace.APICall:
		m.applyAPICall(r, e)
	case *trace.NodeStatus:
		m.applyNodeStatus(r, e)
		m.applyConditions(r, e)
	case *trace.Wait:
		if p == nil {
			m.applyNodeWait(r, e)
		}
	case *trace.PLEGMode:
		m.node.PLEGMode, m.node.PLEGReason = e.Mode, e.Reason
	case *trace.PLEGRelist:
		if r.Edge != trace.EdgeBegin {
			m.node.LastRelist = r.At()
		}
	case *trace.Source:
		m.sources.delivered(r, e)
		m.applySource(r, e)
	case *trace.SourceError:
		m.sources.add(r, e)
	}
	m.res.apply(r)
	m.addLine(r)
	if p != nil {
		m.applyPod(p, r, kept)
	}
	m.end()
	m.came += kept.Bytes()
	if kept.Event != r.Event { // calls keep their bodies
		m.came += r.Size()
	}
	if m.came > m.opt.Bytes {
		m.fit()
	}
}

// Lost reports that n records are missing before the next one. What is open becomes uncertain.
func (m *Model) Lost(n uint64) {
	if n == 0 {
		return
	}
	m.node.Lost += n
	m.node.LostAt = m.node.Last
	m.kept.Lost(n)
}

// Kept returns the store of the records that explain the runs of pods, which the model feeds.
func (m *Model) Kept() *store.Store { return m.kept }

// at converts a record's nanoseconds to a time; 0 becomes the zero time.
func at(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}
