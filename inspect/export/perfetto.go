package export

import (
	"bufio"
	"fmt"
	"io"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// Perfetto writes records in Perfetto's trace format, for ui.perfetto.dev and its trace processor. Each pod is a process, and so is
// the node; each lane of it is a track. A flow links an event to its cause in another lane. Times are Unix nanoseconds, written
// both as boot time, which readers assume, and as real time.
func Perfetto(w io.Writer, recs []trace.Record, opt Options) error {
	p := newPerfetto(bufio.NewWriter(w), fold(recs, opt))
	p.clock()
	p.describe()
	for _, m := range p.marks() {
		p.mark(m)
	}
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

// Field numbers of TracePacket, TrackDescriptor and TrackEvent, and what goes into them.
const (
	tracePacket = 1

	packetClock      = 6
	packetTime       = 8
	packetSequence   = 10
	packetEvent      = 11
	packetFlags      = 13
	packetTrack      = 60
	stateCleared     = 1
	clockReal        = 1
	clockBoot        = 6
	trackUUID        = 1
	trackName        = 2
	trackProcess     = 3
	trackParent      = 5
	trackCounter     = 8
	trackOrdering    = 11
	trackRank        = 12
	orderExplicit    = 3
	processID        = 1
	processName      = 6
	counterUnit      = 3
	counterUnitName  = 6
	unitBytes        = 3
	eventAnnotations = 4
	eventType        = 9
	eventTrack       = 11
	eventCategories  = 22
	eventName        = 23
	eventCount       = 30
	eventFlows       = 47
	eventFlowsEnd    = 48
	typeBegin        = 1
	typeEnd          = 2
	typeInstant      = 3
	typeCounter      = 4
	noteBool         = 2
	noteInt          = 4
	noteDouble       = 5
	noteString       = 6
	noteName         = 10
)

// perfetto is a trace in the making.
type perfetto struct {
	w       *bufio.Writer
	session *session
	lanes   *laneMap
	flows   map[*span][]uint64 // what each span caused on other lanes
	caused  map[*span]bool     // has such a flow to it
	points  map[trace.Pod]uint64
	counts  map[counter]uint64
	next    uint64
	begun   bool
}

func newPerfetto(w *bufio.Writer, s *session) *perfetto {
	p := &perfetto{
		w: w, session: s, lanes: assign(s), flows: map[*span][]uint64{}, caused: map[*span]bool{},
		points: map[trace.Pod]uint64{}, counts: map[counter]uint64{},
	}
	p.next = uint64(len(p.lanes.all)) + 1 // tracks of lanes are numbered by their order, from 1
	for _, sp := range s.spans {
		if p.linked(sp) {
			up := s.by.Get(sp.parent)
			p.flows[up], p.caused[sp] = append(p.flows[up], uint64(sp.id)), true
		}
	}
	return p
}

// linked reports whether a flow leads to sp: its parent is on another lane, and comes before it in the trace.
func (p *perfetto) linked(sp *span) bool {
	up := p.session.by.Get(sp.parent)
	if sp.id == 0 || sp.parent == 0 || up == nil || up == sp {
		return false
	}
	from, to := p.lanes.of[up], p.lanes.of[sp]
	return from != to && (up.start < sp.start || up.start == sp.start && from.order < to.order)
}

// packet writes one, all on one sequence; the first says that nothing came before.
func (p *perfetto) packet(m message) {
	m.uint(packetSequence, 1)
	if !p.begun {
		m.uint(packetFlags, stateCleared)
		p.begun = true
	}
	var outer message
	outer.message(tracePacket, m)
	_, _ = p.w.Write(outer) // a bufio.Writer remembers its error until Flush
}

// clock says that boot time and real time are the same.
func (p *perfetto) clock() {
	first := uint64(max(p.session.first, 0))
	var snapshot, m message
	for _, id := range []uint64{clockReal, clockBoot} {
		var c message
		c.uint(1, id)
		c.uint(2, first)
		snapshot.message(1, c)
	}
	snapshot.uint(2, clockBoot)
	m.uint(packetTime, first)
	m.message(packetClock, snapshot)
	p.packet(m)
}

// describe tells of every process and track before anything happens on it.
func (p *perfetto) describe() {
	counts := counters(p.session)
	for i, pod := range p.session.pods() {
		name := human.Line(pod.String())
		if pod.IsZero() {
			name = "node"
			if p.session.agent.Node != "" {
				name = human.Line("node " + p.session.agent.Node)
			}
		}
		var process, track message
		process.uint(processID, uint64(i+1))
		process.string(processName, name)
		uuid := p.fresh()
		track.uint(trackUUID, uuid)
		track.message(trackProcess, process)
		track.uint(trackOrdering, orderExplicit)
		p.track(track)
		p.points[pod] = p.fresh()
		p.track(child(uuid, p.points[pod], "events", 0))
		for rank, l := range p.lanes.pods[pod] {
			p.track(child(uuid, l.uuid(), l.name, rank+1))
		}
		p.describeCounters(counts[pod], uuid, len(p.lanes.pods[pod])+1)
	}
}

func (p *perfetto) track(m message) {
	var outer message
	outer.message(packetTrack, m)
	p.packet(outer)
}

func child(parent, uuid uint64, name string, rank int) message {
	var m message
	m.uint(trackUUID, uuid)
	m.uint(trackParent, parent)
	m.string(trackName, name)
	m.uint(trackRank, uint64(max(rank, 0)))
	return m
}

func (p *perfetto) fresh() uint64 {
	p.next++
	return p.next
}

// uuid is the lane's track; 0 would be the trace itself.
func (l *lane) uuid() uint64 { return uint64(l.order) + 1 }
