package export_test

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// What a trace may have wrong.
var (
	errState   = errors.New("the first packet of a sequence does not say so")
	errOrder   = errors.New("a time before that of the packet before")
	errTrack   = errors.New("a track that is not told of, or twice")
	errBalance = errors.New("begins and ends do not match")
	errFlow    = errors.New("a flow without a beginning")
	errField   = errors.New("a field that should not be there")
)

// value is one field of a message: a number or bytes.
type value struct {
	n uint64
	b []byte
}

func (v value) str() string { return string(v.b) }

// decode reads one message. Fields that allowed does not name are an error.
func decode(b []byte, allowed ...protowire.Number) (map[protowire.Number][]value, error) {
	out := map[protowire.Number][]value{}
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		known := false
		for _, a := range allowed {
			known = known || a == num
		}
		if !known {
			return nil, fmt.Errorf("%w: %d of %v", errField, num, allowed)
		}
		b = b[n:]
		var v value
		switch typ {
		case protowire.VarintType:
			v.n, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v.n, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			v.b, n = protowire.ConsumeBytes(b)
		default:
			return nil, fmt.Errorf("%w: %d of type %d", errField, num, typ)
		}
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		b = b[n:]
		out[num] = append(out[num], v)
	}
	return out, nil
}

// split cuts a trace into its packets, each with its tag.
func split(b []byte) ([][]byte, error) {
	var out [][]byte
	for len(b) > 0 {
		n := protowire.ConsumeFieldValue(1, protowire.BytesType, b[1:])
		if b[0] != 1<<3|2 || n < 0 {
			return nil, errField
		}
		out = append(out, b[:1+n])
		b = b[1+n:]
	}
	return out, nil
}

// slice is what a reader makes of a begin and an end.
type slice struct {
	start, dur int64
	open       bool
}

// perfettoTrack is a track as told.
type perfettoTrack struct {
	name    string
	counter bool
	stack   []pending
}

type pending struct {
	name, span string
	start      int64
	open       bool
}

// perfettoTrace is a trace as a reader sees it.
type perfettoTrace struct {
	slices map[string]slice // by span id
	text   []string         // all that is in it, for people
	tracks map[uint64]*perfettoTrack
	names  map[string]bool // of tracks with their parents
	pids   map[uint64]bool
	flows  map[uint64]bool
	began  map[uint64]bool // sequences
	last   uint64
}

func readPerfetto(data []byte) (*perfettoTrace, error) {
	p := &perfettoTrace{
		slices: map[string]slice{}, tracks: map[uint64]*perfettoTrack{}, names: map[string]bool{},
		pids: map[uint64]bool{}, flows: map[uint64]bool{}, began: map[uint64]bool{},
	}
	packets, err := split(data)
	if err != nil {
		return nil, err
	}
	for i, raw := range packets {
		body, _ := protowire.ConsumeBytes(raw[1:])
		if err := p.packet(body); err != nil {
			return nil, fmt.Errorf("packet %d: %w", i, err)
		}
	}
	for _, t := range p.tracks {
		if len(t.stack) > 0 {
			return nil, fmt.Errorf("%w: %s has not ended on track %s", errBalance, t.stack[0].name, t.name)
		}
	}
	return p, nil
}

func (p *perfettoTrace) packet(body []byte) error {
	m, err := decode(body, 6, 8, 10, 11, 13, 60)
	if err != nil {
		return err
	}
	if len(m[10]) != 1 || m[10][0].n == 0 {
		return fmt.Errorf("%w: no sequence", errField)
	}
	seq := m[10][0].n
	if !p.began[seq] && (len(m[13]) != 1 || m[13][0].n&1 == 0) {
		return errState
	}
	p.began[seq] = true
	switch {
	case len(m[60]) == 1:
		return p.describe(m[60][0].b)
	case len(m[11]) == 1:
		if len(m[8]) != 1 || m[8][0].n < p.last {
			return errOrder
		}
		p.last = m[8][0].n
		return p.event(int64(p.last), m[11][0].b)
	case len(m[6]) == 1:
		_, err := decode(m[6][0].b, 1, 2)
		return err
	}
	return fmt.Errorf("%w: an empty packet", errField)
}

func (p *perfettoTrace) describe(b []byte) error {
	m, err := decode(b, 1, 2, 3, 5, 8, 11, 12)
	if err != nil {
		return err
	}
	if len(m[1]) != 1 || m[1][0].n == 0 || p.tracks[m[1][0].n] != nil {
		return fmt.Errorf("%w: uuid %v", errTrack, m[1])
	}
	t := &perfettoTrack{counter: len(m[8]) == 1}
	p.tracks[m[1][0].n] = t
	if len(m[3]) == 1 { // a process
		proc, err := decode(m[3][0].b, 1, 6)
		if err != nil || proc[1][0].n == 0 || p.pids[proc[1][0].n] {
			return fmt.Errorf("%w: process %v, %w", errTrack, proc, err)
		}
		p.pids[proc[1][0].n], t.name = true, proc[6][0].str()
		p.text = append(p.text, "process "+t.name)
		return nil
	}
	if len(m[5]) != 1 || p.tracks[m[5][0].n] == nil {
		return fmt.Errorf("%w: no parent of %v", errTrack, m[1])
	}
	t.name = m[2][0].str()
	full := fmt.Sprint(m[5][0].n, "/", t.name)
	if p.names[full] { // readers merge tracks of one name
		return fmt.Errorf("%w: name %s", errTrack, full)
	}
	p.names[full] = true
	kind := "  track "
	if t.counter {
		kind = "  counter "
	}
	p.text = append(p.text, kind+t.name)
	return nil
}

func (p *perfettoTrace) event(at int64, b []byte) error {
	m, err := decode(b, 4, 9, 11, 22, 23, 30, 47, 48)
	if err != nil {
		return err
	}
	t := p.tracks[m[11][0].n]
	if t == nil {
		return fmt.Errorf("%w: an event on %d", errTrack, m[11][0].n)
	}
	if typ := m[9][0].n; (typ == 4) != t.counter {
		return fmt.Errorf("%w: type %d on %s", errTrack, typ, t.name)
	}
	for _, f := range m[47] {
		p.flows[f.n] = true
	}
	for _, f := range m[48] {
		if !p.flows[f.n] {
			return fmt.Errorf("%w: %x", errFlow, f.n)
		}
		delete(p.flows, f.n)
	}
	switch m[9][0].n {
	case 1:
		return p.begin(t, at, m)
	case 2:
		if len(t.stack) == 0 {
			return fmt.Errorf("%w: an end on %s", errBalance, t.name)
		}
		top := t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		p.slices[top.span] = slice{start: top.start, dur: at - top.start, open: top.open}
	case 3:
		p.say(at, t, "· "+m[23][0].str())
	case 4:
		p.say(at, t, fmt.Sprintf("= %d", m[30][0].n))
	}
	return nil
}

func (p *perfettoTrace) begin(t *perfettoTrack, at int64, m map[protowire.Number][]value) error {
	s := pending{name: m[23][0].str(), start: at}
	for _, raw := range m[4] {
		a, err := decode(raw.b, 2, 4, 5, 6, 10)
		if err != nil {
			return err
		}
		switch a[10][0].str() {
		case "span":
			s.span = a[6][0].str()
		case "open":
			s.open = a[2][0].n == 1
		}
	}
	t.stack = append(t.stack, s)
	flow := ""
	if len(m[48]) > 0 {
		flow = " ← flow"
	}
	p.say(at, t, fmt.Sprintf("%s%s [%s]%s", strings.Repeat("  ", len(t.stack)-1), s.name, m[22][0].str(), flow))
	return nil
}

func (p *perfettoTrace) say(at int64, t *perfettoTrack, what string) {
	p.text = append(p.text, fmt.Sprintf("%d.%06d %-16s %s", at/1e9%1e6, at/1e3%1e6, t.name, what))
}
