package pair

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// DoubtLimit is how long a span remains open whose end may have been lost, in the stream's time.
const DoubtLimit = 10 * time.Minute

// Table has the open spans of a stream, each with a value. Create it with NewTable.
type Table[V any] struct {
	byID  map[trace.SpanID]*open[V]
	below map[trace.SpanID]*open[V] // those in doubt, by parent: the last that was added
	// oldest and newest are the two ends of the list of all. Those in doubt are before all others.
	oldest, newest *open[V]
	free           *open[V] // for reuse, linked by newer
	max            int
	doubts         int
	swept          int64
	over           func(V)
	doubt          func(V)
}

// open is an open span.
type open[V any] struct {
	id, parent trace.SpanID
	began      int64
	doubt      bool
	value      V
	// older and newer are its neighbors among all, left and right those among spans in doubt with the same parent.
	older, newer, left, right *open[V]
}

// NewTable returns an empty table for that many spans. over is called with the value of each span that is no longer
// open, whether its end arrived or it was given up; doubt with that of each whose end may have been lost. Either may be
// nil, and neither may use the table.
func NewTable[V any](size int, over, doubt func(V)) Table[V] {
	none := func(V) {}
	if over == nil {
		over = none
	}
	if doubt == nil {
		doubt = none
	}
	return Table[V]{byID: map[trace.SpanID]*open[V]{}, below: map[trace.SpanID]*open[V]{}, max: size, over: over, doubt: doubt}
}

// Begin adds an open span.
func (t *Table[V]) Begin(r *trace.Record, v V) {
	if r.Span == 0 {
		return
	}
	if len(t.byID) >= t.max && t.oldest != nil {
		t.remove(t.oldest)
	}
	if again := t.byID[r.Span]; again != nil {
		t.unlink(again)
		t.reuse(again)
	}
	o := t.free
	if o == nil {
		o = &open[V]{}
	} else {
		t.free = o.newer
	}
	*o = open[V]{id: r.Span, parent: r.Parent, began: r.Time, value: v}
	t.byID[o.id] = o
	t.link(o)
}

// Find returns the value of an open span, nil for any other.
func (t *Table[V]) Find(id trace.SpanID) *V {
	if o := t.byID[id]; o != nil {
		return &o.value
	}
	return nil
}

// Has reports whether a span is open.
func (t *Table[V]) Has(id trace.SpanID) bool { return t.byID[id] != nil }

// Len returns the number of open spans.
func (t *Table[V]) Len() int { return len(t.byID) }

// End closes a span, and those in doubt below it: these have ended unobserved.
func (t *Table[V]) End(id trace.SpanID) {
	o := t.byID[id]
	if o == nil {
		return
	}
	t.remove(o)
	if t.doubts == 0 {
		return
	}
	var below []trace.SpanID
	for c := t.below[id]; c != nil; c = c.right {
		below = append(below, c.id)
	}
	t.Settle(below...)
}

// Settle closes those of ids that are in doubt, because a record showed that they have ended.
func (t *Table[V]) Settle(ids ...trace.SpanID) {
	for _, id := range ids {
		if o := t.byID[id]; o != nil && o.doubt {
			t.End(id)
		}
	}
}

// Lost reports missing records: the ends of all open spans may be among them.
func (t *Table[V]) Lost() {
	for o := t.newest; o != nil && !o.doubt; o = o.older {
		o.doubt = true
		t.doubts++
		if o.right = t.below[o.parent]; o.right != nil {
			o.right.left = o
		}
		t.below[o.parent] = o
		t.doubt(o.value)
	}
}

// Clear closes everything: the agent that began it has stopped.
func (t *Table[V]) Clear() {
	for _, o := range t.byID {
		t.remove(o)
	}
}

// Sweep closes, once per minute of the stream's time, spans that have been in doubt for too long.
func (t *Table[V]) Sweep(now int64) {
	if t.doubts == 0 || now-t.swept < int64(time.Minute) {
		return
	}
	t.swept = now
	for o := t.oldest; o != nil && o.doubt && now-o.began > int64(DoubtLimit); o = t.oldest {
		t.remove(o)
	}
}

// Drop closes those for which keep is false.
func (t *Table[V]) Drop(keep func(V) bool) {
	for _, o := range t.byID {
		if !keep(o.value) {
			t.remove(o)
		}
	}
}

func (t *Table[V]) remove(o *open[V]) {
	t.unlink(o)
	v := o.value
	t.reuse(o)
	t.over(v)
}

// reuse keeps the memory of a closed span.
func (t *Table[V]) reuse(o *open[V]) {
	*o = open[V]{newer: t.free}
	t.free = o
}

// link appends a span to the list of all.
func (t *Table[V]) link(o *open[V]) {
	if o.older = t.newest; o.older != nil {
		o.older.newer = o
	} else {
		t.oldest = o
	}
	t.newest = o
}

func (t *Table[V]) unlink(o *open[V]) {
	delete(t.byID, o.id)
	if o.older != nil {
		o.older.newer = o.newer
	} else {
		t.oldest = o.newer
	}
	if o.newer != nil {
		o.newer.older = o.older
	} else {
		t.newest = o.older
	}
	if !o.doubt {
		return
	}
	t.doubts--
	if o.right != nil {
		o.right.left = o.left
	}
	switch {
	case o.left != nil:
		o.left.right = o.right
	case o.right != nil:
		t.below[o.parent] = o.right
	default:
		delete(t.below, o.parent)
	}
}
