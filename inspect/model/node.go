package model

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Node is the known state of the node as a whole.
//
// Many fields: one for each value that views show of a node.
type Node struct {
	Name           string
	Version        string // kubeloupe's version
	Runtime        string
	RuntimeVersion string
	Endpoint       string
	Simulated      bool
	PID            int
	State          trace.AgentState // "" if unknown
	Reason         string
	StateAt        time.Time // when State began, and the number of its record
	StateSeq       uint64
	Since          time.Time      // when the agent started; zero if unknown
	PLEGMode       trace.PLEGFrom // "" if unknown
	PLEGReason     string
	LastLoop       time.Time // end of the last loop iteration; zero if unknown
	LastRelist     time.Time // end of the last relist; zero if unknown
	First, Last    time.Time // of the records applied
	LastSeq        uint64
	Records        uint64    // applied
	Lost           uint64    // reported by Lost
	LostAt         time.Time // the last record before the last gap
	Usage          Usage     // the agent's usage of the machine
	Described      Described
	Handlers       Handlers
	Shutdown       Shutdown
	SeenBy         trace.ObserverSet // the observers of the records applied
}

// Shutdown is a graceful shutdown of the node. The zero value is none.
type Shutdown struct {
	Since    time.Time // when it was announced, and the number of its record
	Seq      uint64
	Group    int // the last group of pods that began to terminate, from 1; 0 before that
	Groups   int
	Released bool // the machine shuts down now
	Overran  int  // pods that had not terminated in time
}

func (n *Node) shutdown(r *trace.Record, e *trace.Shutdown) {
	s := &n.Shutdown
	switch e.State {
	case trace.ShutdownAnnounced:
		*s = Shutdown{Since: r.At(), Seq: r.Seq, Groups: e.Groups}
	case trace.ShutdownGroup:
		s.Group, s.Groups = e.Group, e.Groups
		if r.Edge == trace.EdgeEnd {
			s.Overran += len(e.Overran)
		}
		if s.Since.IsZero() { // the announcement was missed
			s.Since, s.Seq = time.Unix(0, r.Start()), r.Seq
		}
	case trace.ShutdownReleased:
		s.Released, s.Overran = true, len(e.Overran)
		if s.Since.IsZero() {
			s.Since, s.Seq = e.Started, r.Seq
		}
	case trace.ShutdownCanceled, trace.ShutdownHeld, trace.ShutdownLast:
		*s = Shutdown{}
	}
}

func (n *Node) count(r *trace.Record) {
	n.Records++
	n.SeenBy = n.SeenBy.With(r.Observer)
	n.LastSeq = r.Seq
	n.Last = r.At()
	if n.First.IsZero() {
		n.First = n.Last
	}
}

// Node returns the known state of the node.
func (m *Model) Node() Node { return m.node }

func (m *Model) applyAgent(r *trace.Record, e *trace.Agent) {
	n := &m.node
	if e.State == trace.AgentStarting && n.State != trace.AgentStarting {
		clear(m.api.watches)
		n.Described, n.Handlers, n.Shutdown = Described{}, Handlers{}, Shutdown{}
		clear(m.certificates)
		m.res.restart()
		n.Since, n.PLEGMode, n.PLEGReason, n.LastLoop, n.LastRelist = r.At(), "", "", time.Time{}, time.Time{}
	}
	set := func(dst *string, v string) {
		if v != "" {
			*dst = v
		}
	}
	set(&n.Name, e.Node)
	set(&n.Version, e.Version)
	set(&n.Runtime, e.Runtime)
	set(&n.RuntimeVersion, e.RuntimeVersion)
	set(&n.Endpoint, e.Endpoint)
	n.Simulated = n.Simulated || e.Simulated
	if e.PID != 0 {
		n.PID = e.PID
	}
	if n.State != e.State || n.Reason != e.Reason {
		n.StateAt, n.StateSeq = r.At(), r.Seq
	}
	n.State, n.Reason = e.State, e.Reason
}

// rateWindow is the number of whole seconds over which Rate averages.
const rateWindow = 5

// rate counts records per second of stream time.
type rate struct {
	buckets [rateWindow + 1]int
	seconds [rateWindow + 1]int64
}

func (r *rate) count(ns int64) {
	s := ns / int64(time.Second)
	i := s % int64(len(r.buckets))
	if i < 0 {
		return
	}
	if r.seconds[i] != s {
		r.seconds[i], r.buckets[i] = s, 0
	}
	r.buckets[i]++
}

// Rate returns records per second over the last five whole seconds before now.
func (m *Model) Rate(now time.Time) float64 {
	s, n := now.Unix(), 0
	for i, at := range m.rate.seconds {
		if at < s && at >= s-rateWindow {
			n += m.rate.buckets[i]
		}
	}
	return float64(n) / rateWindow
}
