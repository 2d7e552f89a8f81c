package query

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// Kind is how a field can be compared. A field can have several kinds.
type Kind uint8

// The kinds.
const (
	Text     Kind = 1 << iota // = != ~ !~
	Flag                      // without operator; also = and != with true or false
	Duration                  // > >= < <= = !=, for example 500ms
	Percent                   // the same, from 0% to 100%
	Number                    // the same, for example 3, 1,234 or 10MiB
	Figure                    // the same, in any unit: 500ms, 10MiB, 3, 85%, 12:03
)

// Field is a field of conditions.
type Field struct {
	// Name is in lowercase (except the ids of causes), without spaces.
	Name string
	Kind Kind
	// Measured disallows = and !=, which make no sense for measurements.
	Measured bool
	// Check returns a value after = or != in the field's spelling; nil accepts all values. Its error says what is
	// valid.
	Check func(value string) (string, error)
	// Refuse is the reason why the field does not exist here, if it exists elsewhere: the error is the name followed by
	// it.
	Refuse string
}

// Fields are the available fields.
type Fields struct {
	All []Field
	// Took is the field that >500ms refers to; may be empty.
	Took string
	// NoWords means that there is no text to search for words and expressions: only conditions on fields.
	NoWords bool
	// Known is the list of fields for errors about an unknown one; "" means all names.
	Known string
}

// orders are the operators for more or less, equals those for equality, matches those for expressions.
var (
	orders  = []string{">", ">=", "<", "<="}
	equals  = []string{"=", "==", "!="}
	matches = []string{"~", "!~"}
)

// operators returns the operators that the field allows.
func (f *Field) operators() (out []string) {
	if f.Kind&(Duration|Percent|Number|Figure) != 0 {
		out = append(out, orders...)
	}
	if !f.Measured {
		out = append(out, equals...)
	}
	if f.Kind&Text != 0 {
		out = append(out, matches...)
	}
	return out
}

// get returns the field with exactly that name, ignoring case; namespace is ns.
func (f *Fields) get(name string) *Field {
	for i := range f.All {
		if strings.EqualFold(f.All[i].Name, name) {
			return &f.All[i]
		}
	}
	if strings.EqualFold(name, "namespace") {
		return f.get("ns")
	}
	return nil
}

// find returns the field with that name or, if begins is set, the only field with that prefix; "" is the duration of
// rows.
func (f *Fields) find(name string, begins bool) (*Field, error) {
	if name == "" {
		if f.Took == "" {
			return nil, errors.New("nothing here has a duration to compare with; want a field before the operator")
		}
		name = f.Took
	}
	if field := f.get(name); field != nil {
		return field, nil
	}
	var like []string
	for _, n := range f.names() {
		if begins && strings.HasPrefix(strings.ToLower(n), strings.ToLower(name)) {
			like = append(like, n)
		}
	}
	switch {
	case len(f.All) == 0:
		return nil, errors.New("there are no fields here: want words or /regular expressions/")
	case len(like) == 1:
		return f.get(like[0]), nil
	case len(like) > 1:
		return nil, fmt.Errorf("%s may be %s", name, strings.Join(like, " or "))
	}
	return nil, f.unknown(name)
}

// longer returns the only other field that has field's name as prefix and can be compared with op, such as errs for
// err>3; field itself if there is none.
func (f *Fields) longer(field *Field, op string) *Field {
	var found []*Field
	for i := range f.All {
		if g := &f.All[i]; g != field && strings.HasPrefix(g.Name, field.Name) && slices.Contains(g.operators(), op) {
			found = append(found, g)
		}
	}
	if len(found) == 1 {
		return found[0]
	}
	return field
}

// unknown returns the error about an unknown field.
func (f *Fields) unknown(name string) error {
	text := fmt.Sprintf("no field %q", name)
	if near := human.Nearest(name, f.names()); near != "" {
		text += ": did you mean " + near + "?"
	}
	text += " (fields: " + f.list() + ")"
	if !f.NoWords {
		text += "; use quotes to search for the text"
	}
	return errors.New(text)
}

// list returns the fields as text.
func (f *Fields) list() string {
	if f.Known != "" {
		return f.Known
	}
	return strings.Join(f.names(), " ")
}

// names returns the names of the available fields.
func (f *Fields) names() []string {
	out := make([]string, 0, len(f.All))
	for i := range f.All {
		if f.All[i].Refuse == "" {
			out = append(out, f.All[i].Name)
		}
	}
	return out
}

// OneOf returns a Check for a fixed set of values, ignoring case.
func OneOf(values ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		i := slices.IndexFunc(values, func(v string) bool { return strings.EqualFold(v, s) })
		if i >= 0 {
			return values[i], nil
		}
		text := fmt.Sprintf("%q is not one of its values", s)
		if near := human.Nearest(s, values); near != "" {
			return "", fmt.Errorf("%s: did you mean %s?", text, near)
		}
		return "", fmt.Errorf("%s: want one of %s", text, strings.Join(values, ", "))
	}
}
