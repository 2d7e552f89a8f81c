package recording

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Item is one record, with its position in the recording.
type Item struct {
	Rec trace.Record
	// Lost is how many records are missing before it: the recorder was too slow for them, or
	// damage took them.
	Lost uint64
	// Session is the index of its session. If it changes, a new run of the recorder began: spans that were open before will never
	// end.
	Session int
	// Earlier says that the record is from before the beginning of its session, or of the first remaining part: it describes the
	// state of the node at that time.
	Earlier bool
}

// chunk is a number of consecutive lines.
type chunk struct {
	text    []byte
	n       int    // its number in the source
	line    int    // number of its first line, for error messages
	missing uint64 // missing records before it
	session int
	earlier bool
	last    bool // text may end in the middle of a line
	torn    bool // it does
	troubles

	parsed bool   // text is used up, and its records are in ready
	ready  []Item // without the missing ones before the first
	after  uint64 // missing records after the last
}

// parse appends all records to items and returns them.
func (c *chunk) parse(items []Item) []Item {
	var it Item
	for c.item(&it) {
		items = append(items, it)
	}
	c.parsed, c.ready, c.after, c.missing = true, items, c.missing, 0
	return items
}

// item reads the next record; false if the chunk is used up.
func (c *chunk) item(it *Item) bool {
	if c.parsed {
		return c.shift(it)
	}
	for len(c.text) > 0 {
		line, rest, whole := bytes.Cut(c.text, []byte("\n"))
		c.text = rest
		if c.line > 0 {
			c.line++
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var r trace.Record
		if err := r.ParseJSON(line); err != nil {
			c.bad(line, err, !whole && c.last)
			continue
		}
		if lost, ok := lostIn(&r); ok {
			c.missing += lost
			continue
		}
		*it = Item{Rec: r, Lost: c.missing, Session: c.session, Earlier: c.earlier}
		c.missing = 0
		return true
	}
	return false
}

// shift takes the next ready record.
func (c *chunk) shift(it *Item) bool {
	if len(c.ready) == 0 {
		c.missing, c.after = c.missing+c.after, 0
		return false
	}
	*it, c.ready = c.ready[0], c.ready[1:]
	it.Lost, c.missing = it.Lost+c.missing, 0
	return true
}

// bad counts a line that is not a record of this version.
func (c *chunk) bad(line []byte, err error, cut bool) {
	switch {
	case errors.Is(err, trace.ErrUnknownKind):
		c.unknown++
		return
	case cut:
		c.torn = true
		return
	case line[0] == '{':
		c.skipped++
		c.missing++
	}
	where := "a record"
	if c.line > 0 {
		where = fmt.Sprintf("line %d", c.line-1)
	}
	c.note(fmt.Sprintf("%s: %v", where, err))
}
