package report

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
)

// stateGone is the state of a row that is no longer in the list.
const stateGone = "gone"

// Watch prints a list, and then its rows that change, as kubectl get --watch does: in text below one header, else one object for each row.
// It is for one goroutine.
type Watch struct {
	out    io.Writer
	format Format
	width  int
	last   map[string]watched // by name
	widths map[int]int        // of columns of text, the largest so far
	headed bool
}

// watched is a row as it was printed.
type watched struct {
	is  string
	row []Value
}

// NewWatch returns a watch that writes in a format. Text is truncated to width columns; 0 truncates nothing.
func NewWatch(out io.Writer, format Format, width int) *Watch {
	return &Watch{out: out, format: format, width: width, last: map[string]watched{}, widths: map[int]int{}}
}

// Next takes in the list as it is now, and prints the rows that differ from the last list: those that were added or changed, in their
// order, and those that are gone.
func (w *Watch) Next(t *Table) error {
	changed := [][]Value{}
	there := map[string]bool{}
	for i, name := range t.names() {
		is, err := t.identity(t.Rows[i])
		if err != nil {
			return err
		}
		if old, ok := w.last[name]; !ok || old.is != is {
			changed = append(changed, t.Rows[i])
		}
		there[name], w.last[name] = true, watched{is, t.Rows[i]}
	}
	for _, name := range slices.Sorted(maps.Keys(w.last)) {
		if !there[name] {
			changed = append(changed, t.gone(w.last[name].row))
			delete(w.last, name)
		}
	}
	return w.print(t, changed)
}

// identity is what of a row makes it another when it changes. Words for people count without their figures: time that passes, and progress,
// are no changes.
func (t *Table) identity(row []Value) (string, error) {
	var o object
	for i, c := range t.Columns {
		switch {
		case c.Long:
			text := row[i].text
			if n := strings.IndexAny(text, "0123456789"); n >= 0 {
				text = text[:n]
			}
			o.add(c.Key, text)
		case c.Key != "":
			o.add(c.Key, row[i].data)
		}
	}
	text, err := o.encode()
	return string(text), err
}

// gone is the last row of something that is no longer there.
func (t *Table) gone(row []Value) []Value {
	row = slices.Clone(row)
	for i, c := range t.Columns {
		switch {
		case c.Key == "state":
			row[i] = str(stateGone)
		case c.Long && c.Key == "doing":
			row[i] = Value{}
		}
	}
	return row
}

func (w *Watch) print(t *Table, rows [][]Value) error {
	if len(rows) == 0 {
		return nil
	}
	part := *t
	part.Rows, part.Sections, part.Facts = rows, nil, nil
	switch w.format {
	case Text, Wide:
		_, err := io.WriteString(w.out, w.text(&part))
		return err
	case Name:
		_, err := w.out.Write(names(&part))
		return err
	case JSON, YAML:
	}
	var items []json.RawMessage
	text, err := encodeRows(&part)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &items); err != nil {
		return err
	}
	for _, item := range items {
		if w.format == YAML {
			if _, err := io.WriteString(w.out, "---\n"); err != nil {
				return err
			}
		}
		if err := Object(w.out, item, w.format); err != nil {
			return err
		}
	}
	return nil
}

// text are lines of rows, below the header of the first. Columns are as wide as they ever had to be, and none comes or goes.
func (w *Watch) text(t *Table) string {
	shown := []int{}
	for i, c := range t.Columns {
		if c.Name != "" && (w.format == Wide || !c.Wide) {
			shown = append(shown, i)
		}
	}
	widths := t.widths(shown)
	for n, i := range shown {
		widths[n] = max(widths[n], w.widths[i])
		w.widths[i] = widths[n]
	}
	if w.width > 0 {
		t.fit(shown, widths, w.width)
	}
	var b strings.Builder
	p := printer{out: &b, width: w.width}
	if !w.headed {
		p.line(t.cells(shown, widths, t.head()), 0)
		w.headed = true
	}
	for _, row := range t.Rows {
		p.line(t.cells(shown, widths, row), 0)
	}
	return b.String()
}
