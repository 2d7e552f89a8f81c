package report

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
)

// Table is the content of a subject: facts, rows, and parts that are tables themselves.
type Table struct {
	// Key names the table in JSON, Title in text.
	Key, Title string
	Facts      []Fact
	Columns    []Column
	Rows       [][]Value
	Sections   []*Table
	// None is said in text when there are no rows; empty leaves the whole part out.
	None string
	// named returns the name of a row; of the only object, if there are no rows.
	named func(cell func(key string) Value) string
	// Raw is printed unchanged, as YAML text, instead of everything else.
	Raw json.RawMessage
}

// Fact is a name with its value.
type Fact struct {
	Name, Key string
	Value     Value
}

// Column heads a column. Without a name it is in JSON only, without a key in text only.
type Column struct {
	Name, Key string
	Right     bool // numbers
	Wide      bool // in text for -o wide only
	Long      bool // cut when the line is too long for the terminal
	Below     bool // in text below the rows, wrapped, if lines with it are too long for the terminal
	Ends      bool // tells rows apart: cut in the middle, after the long ones, and not below whole
	Drop      int  // above 0: hidden if that is not enough, the highest first
}

// Value is what stands in a cell. Nil data is unknown.
type Value struct {
	text string
	data any
}

func (v Value) String() string {
	if v.text == "" {
		return "-"
	}
	return v.text
}

// names are the names of the rows, or of the only object.
func (t *Table) names() []string {
	if t.Columns == nil {
		return []string{t.named(func(key string) Value {
			for _, f := range t.Facts {
				if f.Key == key {
					return f.Value
				}
			}
			return Value{}
		})}
	}
	var out []string
	for _, row := range t.Rows {
		out = append(out, t.named(func(key string) Value {
			for i, c := range t.Columns {
				if c.Key == key {
					return row[i]
				}
			}
			return Value{}
		}))
	}
	return out
}

// byKeys makes names of the texts of these keys, with slashes between.
func byKeys(keys ...string) func(func(string) Value) string {
	return func(cell func(string) Value) string {
		var parts []string
		for _, k := range keys {
			parts = append(parts, cell(k).text)
		}
		return strings.Join(parts, "/")
	}
}

// imageName is an image's first tag or, if it has none, its first digest or its ID.
func imageName(cell func(string) Value) string {
	for _, key := range []string{"tags", "digests"} {
		if names, _ := cell(key).data.([]string); len(names) > 0 {
			return names[0]
		}
	}
	id, _ := cell("id").data.(string)
	return id
}

// add appends a row.
func (t *Table) add(row ...Value) { t.Rows = append(t.Rows, row) }

// fact appends a fact.
func (t *Table) fact(name, key string, v Value) { t.Facts = append(t.Facts, Fact{name, key, v}) }

// section appends a part that has something to say.
func (t *Table) section(s *Table) {
	if len(s.Rows) > 0 || len(s.Facts) > 0 || len(s.Sections) > 0 || s.None != "" || s.Raw != nil {
		t.Sections = append(t.Sections, s)
	}
}

// str is a word or a sentence; empty is unknown.
func str[S ~string](s S) Value {
	if s == "" {
		return Value{}
	}
	return Value{human.Line(string(s)), string(s)}
}

// text is words for people.
func text(s string) Value { return str(noise.Of(s)) }

func count(n int) Value { return Value{strconv.Itoa(n), n} }

func number(n uint64) Value { return Value{strconv.FormatUint(n, 10), n} }

func yes(b bool) Value {
	if b {
		return Value{"yes", true}
	}
	return Value{"no", false}
}

func size(n int64) Value { return Value{human.Bytes(n), n} }

// took is a duration in nanoseconds; 0 is unknown.
func took(d time.Duration) Value {
	if d == 0 {
		return Value{}
	}
	return Value{human.Duration(d), int64(d)}
}

// ago is a time, told by how long ago it was; zero is unknown.
func ago(t, now time.Time) Value {
	if t.IsZero() {
		return Value{}
	}
	return Value{human.Duration(max(now.Sub(t), 0)), stamp(t)}
}

// at is a time of day, with how long ago or how far ahead it is.
func at(t, now time.Time) Value {
	if t.IsZero() {
		return Value{}
	}
	rel := human.Duration(max(now.Sub(t), 0)) + " ago"
	if t.After(now) {
		rel = "in " + human.Duration(t.Sub(now))
	}
	return Value{fmt.Sprintf("%s (%s)", t.UTC().Format("2006-01-02 15:04:05.000Z"), rel), stamp(t)}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// list is names; none is unknown.
func list(names []string) Value {
	if len(names) == 0 {
		return Value{}
	}
	text := ""
	for i, n := range names {
		if i > 0 {
			text += ", "
		}
		text += human.Line(n)
	}
	return Value{text, names}
}
