package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	jsonfast "github.com/go-json-experiment/json/v1"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// ErrUnknownKind is wrapped by the error for a record of a kind that this version does not know.
var ErrUnknownKind = errors.New("unknown kind")

// lineStart is the beginning of a line of the current schema, lineStartV1 of the first one.
var lineStart, lineStartV1 = `{"v":` + strconv.Itoa(Version) + `,"seq":`, `{"seq":`

// AppendJSON appends the result of MarshalJSON to dst. It reads the event once. Characters that control terminals are
// escaped in strings, see human.AppendJSON.
func (r *Record) AppendJSON(dst []byte) ([]byte, error) {
	if r.Event == nil {
		return dst, fmt.Errorf("record %d has no event", r.Seq)
	}
	event, err := json.Marshal(r.Event)
	if err != nil {
		return dst, fmt.Errorf("record %d, event %s: %w", r.Seq, r.Event.Kind(), err)
	}
	dst = strconv.AppendUint(append(dst, lineStart...), r.Seq, 10)
	dst = time.Unix(0, r.Time).UTC().AppendFormat(append(dst, `,"time":"`...), timeLayout)
	dst = append(append(dst, `","kind":"`...), r.Event.Kind().String()...)
	dst = append(dst, '"')
	if r.Edge != EdgePoint {
		dst = append(append(append(dst, `,"edge":"`...), r.Edge.String()...), '"')
	}
	if r.Observer != r.Event.Kind().Observer() {
		dst = append(append(append(dst, `,"observer":"`...), r.Observer.String()...), '"')
	}
	if r.Also != 0 {
		dst = append(append(append(dst, `,"also":"`...), r.Also.String()...), '"')
	}
	if r.Precision != 0 {
		dst = strconv.AppendInt(append(dst, `,"precision_ns":`...), int64(r.Precision.Duration()), 10)
	}
	if r.Dur != 0 {
		dst = strconv.AppendInt(append(dst, `,"dur_ns":`...), int64(r.Dur), 10)
	}
	if !r.Trace.IsZero() {
		dst = append(appendHex(appendHex(append(dst, `,"trace":"`...), r.Trace.Hi), r.Trace.Lo), '"')
	}
	if r.Span != 0 {
		dst = append(appendHex(append(dst, `,"span":"`...), uint64(r.Span)), '"')
	}
	if r.Parent != 0 {
		dst = append(appendHex(append(dst, `,"parent":"`...), uint64(r.Parent)), '"')
	}
	if !r.Pod.IsZero() {
		pod, err := json.Marshal(r.Pod)
		if err != nil {
			return dst, fmt.Errorf("record %d, field pod: %w", r.Seq, err)
		}
		dst = human.AppendJSON(append(dst, `,"pod":`...), pod)
	}
	dst = human.AppendJSON(append(dst, `,"event":`...), event)
	return append(dst, '}'), nil
}

// ParseJSON is UnmarshalJSON for a line that was not checked before. It reads a line in AppendJSON's format only once.
func (r *Record) ParseJSON(line []byte) error {
	l := lineReader{rest: line}
	rec, version, kind, observed, ok := l.record()
	if !ok {
		return r.UnmarshalJSON(line)
	}
	event, ok := newOf(version, kind)
	if !ok {
		return fmt.Errorf("record %d, field kind: %w %q", rec.Seq, ErrUnknownKind, kind)
	}
	if jsonfast.Unmarshal(l.rest, event) != nil {
		return r.UnmarshalJSON(line) // more may follow the event
	}
	rec.Event = event
	if !observed {
		rec.Observer = event.Kind().Observer()
	}
	if rec.inTime() != nil {
		return r.UnmarshalJSON(line)
	}
	rec.Event = rec.upgraded(version)
	rec.Limit()
	*r = rec
	return nil
}

// lineReader reads a record's envelope in AppendJSON's order. It gives up at anything unexpected.
type lineReader struct{ rest []byte }

// record reads everything but the event, which remains in rest.
func (l *lineReader) record() (r Record, version int, kind string, observed, ok bool) {
	end, found := bytes.CutSuffix(bytes.TrimRight(l.rest, " \r\n"), []byte("}"))
	l.rest, version = end, Version
	if found && !l.skip(lineStart) {
		found, version = l.skip(lineStartV1), 1
	}
	if !found || !l.uint(&r.Seq) || !l.skip(`,"time":"`) || !l.time(&r.Time) || !l.skip(`","kind":`) {
		return r, 0, "", false, false
	}
	if kind, ok = l.text(); !ok {
		return r, 0, "", false, false
	}
	ok = l.optional(`,"edge":`, func() bool { return l.edge(&r.Edge) }) &&
		l.optional(`,"observer":`, func() bool { observed = true; return l.id(r.Observer.UnmarshalText) }) &&
		l.optional(`,"also":`, func() bool { return l.id(r.Also.UnmarshalText) }) &&
		l.optional(`,"precision_ns":`, func() bool { return l.precision(&r.Precision) }) &&
		l.optional(`,"dur_ns":`, func() bool { return l.dur(&r.Dur) }) &&
		l.optional(`,"trace":`, func() bool { return l.id(r.Trace.UnmarshalText) }) &&
		l.optional(`,"span":`, func() bool { return l.id(r.Span.UnmarshalText) }) &&
		l.optional(`,"parent":`, func() bool { return l.id(r.Parent.UnmarshalText) }) &&
		l.optional(`,"pod":{`, func() bool { return l.pod(&r.Pod) }) &&
		l.skip(`,"event":`)
	return r, version, kind, observed, ok
}

func (l *lineReader) skip(s string) bool {
	if len(l.rest) < len(s) || string(l.rest[:len(s)]) != s {
		return false
	}
	l.rest = l.rest[len(s):]
	return true
}

func (l *lineReader) optional(key string, read func() bool) bool {
	return !l.skip(key) || read()
}

// uint reads digits as in JSON: without leading zeros.
func (l *lineReader) uint(v *uint64) bool {
	n := 0
	for n < len(l.rest) && '0' <= l.rest[n] && l.rest[n] <= '9' {
		n++
	}
	if n > 1 && l.rest[0] == '0' {
		return false
	}
	x, err := strconv.ParseUint(string(l.rest[:n]), 10, 64)
	*v, l.rest = x, l.rest[n:]
	return err == nil
}

func (l *lineReader) dur(d *time.Duration) bool {
	var v uint64
	ok := l.uint(&v) && v < 1<<63
	*d = time.Duration(v)
	return ok
}

func (l *lineReader) precision(p *Precision) bool {
	var d time.Duration
	ok := l.dur(&d)
	*p = PrecisionOf(d)
	return ok
}

// text reads a string without escapes; control characters are invalid in JSON.
func (l *lineReader) text() (string, bool) {
	s, ok := l.bytes()
	return string(s), ok
}

// bytes is text, valid as long as the line.
func (l *lineReader) bytes() ([]byte, bool) {
	if !l.skip(`"`) {
		return nil, false
	}
	for i, c := range l.rest {
		switch {
		case c == '"':
			s := l.rest[:i]
			l.rest = l.rest[i+1:]
			return s, true
		case c == '\\' || c < ' ' || c >= 0x80:
			return nil, false
		}
	}
	return nil, false
}

func (l *lineReader) id(set func([]byte) error) bool {
	s, ok := l.bytes()
	return ok && set(s) == nil
}

func (l *lineReader) edge(e *Edge) bool { return l.id(e.UnmarshalText) }

func (l *lineReader) pod(p *Pod) bool {
	first := true
	for _, f := range []struct {
		key string
		to  *string
	}{{`"namespace":`, &p.Namespace}, {`"name":`, &p.Name}, {`"uid":`, &p.UID}} {
		before := l.rest
		if (!first && !l.skip(",")) || !l.skip(f.key) {
			l.rest = before
			continue
		}
		first = false
		var ok bool
		if *f.to, ok = l.text(); !ok {
			return false
		}
	}
	return l.skip("}")
}

func (l *lineReader) time(v *int64) bool {
	if len(l.rest) < len(timeLayout) {
		return false
	}
	at, ok := parseTime(l.rest[:len(timeLayout)])
	*v, l.rest = at, l.rest[len(timeLayout):]
	return ok
}
