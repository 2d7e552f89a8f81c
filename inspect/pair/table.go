package pair

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// DoubtLimit is how long a span is open whose end may have been lost, in the stream's time.
const DoubtLimit = 10 * time.Minute

// Table has what is open in a stream, each with a value. Build it with NewTable.
type Table[V any] struct {
	byID  map[trace.SpanID]*open[V]
	below map[trace.SpanID]*open[V] // of those in doubt, by parent: the last that came to be
	// oldest and newest are the ends of all. Those in doubt come before all others.
	oldest, newest *open[V]
	free           *open[V] // places to use again, by newer
	max            int
	doubts         int
	swept          int64
	over           func(V)
	doubt          func(V)
}

// open is something begun and not ended.
type open[V any] struct {
	id, parent trace.SpanID
	began      int64
	doubt      bool
	value      V
	// older and newer are its neighbors among all, left and right those among what is in doubt and has the same parent.
	older, newer, left, right *open[V]
}

// NewTable returns an empty table for so many spans. over is called with the value of each span that is open no more, whether its end came
// or it is given up; doubt with that of each whose end may have been lost. Either may be nil, and neither may use the table.
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

// Begin notes that a span is open.
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

// Find returns the value of a span that is open, nil of any other.
func (t *Table[V]) Find(id trace.SpanID) *V {
	if o := t.byID[id]; o != nil {
		return &o.value
	}
	return nil
}

// Has reports whether a span is open.
func (t *Table[V]) Has(id trace.SpanID) bool { return t.byID[id] != nil }

// Len is how many are open.
func (t *Table[V]) Len() int { return len(t.byID) }

// End closes a span, and what is in doubt below it: that has ended unseen.
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

// Settle closes those of ids that are in doubt, for something showed that they are over.
func (t *Table[V]) Settle(ids ...trace.SpanID) {
	for _, id := range ids {
		if o := t.byID[id]; o != nil && o.doubt {
			t.End(id)
		}
	}
}

// Lost says that records are missing here: the ends of all that is open may be among them.
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

// Clear closes everything: the agent that had begun it is no more.
func (t *Table[V]) Clear() {
	for _, o := range t.byID {
		t.remove(o)
	}
}

// Sweep gives up, once a minute of the stream's time, what has been in doubt for too long.
func (t *Table[V]) Sweep(now int64) {
	if t.doubts == 0 || now-t.swept < int64(time.Minute) {
		return
	}
	t.swept = now
	for o := t.oldest; o != nil && o.doubt && now-o.began > int64(DoubtLimit); o = t.oldest {
		t.remove(o)
	}
}

// Drop gives up those of which keep is false.
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

// reuse keeps the place of a span that is open no more.
func (t *Table[V]) reuse(o *open[V]) {
	*o = open[V]{newer: t.free}
	t.free = o
}

// link puts a span at the end of all.
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
