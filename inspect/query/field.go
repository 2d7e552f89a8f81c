package query

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// Kind is what a field may be compared as. A field can have several.
type Kind uint8

// The kinds.
const (
	Text     Kind = 1 << iota // = != ~ !~
	Flag                      // has no operator; also = and != with true or false
	Duration                  // > >= < <= = !=, for example 500ms
	Percent                   // the same, from 0% to 100%
	Number                    // the same, for example 3, 1,234 or 10MiB
	Figure                    // the same, of any unit: 500ms, 10MiB, 3, 85%, 12:03
)

// Field is what a condition can be about.
type Field struct {
	// Name is in small letters but for the ids of causes, without spaces.
	Name string
	Kind Kind
	// Measured says that = and != make no sense: no two measurements are the same.
	Measured bool
	// Check returns a value after = or != as the field spells it; nil takes all. Its error says what would be right.
	Check func(value string) (string, error)
	// Refuse says why there is no such field here, though it is known elsewhere: the error is the name and this.
	Refuse string
}

// Fields are the fields that conditions can compare.
type Fields struct {
	All []Field
	// Took is the field that >500ms means; "" for none.
	Took string
	// NoWords says that there is no text in which words and expressions could be found: conditions on fields only.
	NoWords bool
	// Known lists the fields in an error about an unknown one; "" for all names.
	Known string
}

// orders are the operators that ask for more or less, equals those that ask for the same, matches those with an expression.
var (
	orders  = []string{">", ">=", "<", "<="}
	equals  = []string{"=", "==", "!="}
	matches = []string{"~", "!~"}
)

// operators returns those that fit the field.
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

// get returns the field of exactly that name, whatever its case; namespace is ns.
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

// find returns the field of that name or, where a person types, the only one that begins so; "" is how long rows took.
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

// longer returns the only field that begins with the name of f and can be compared with op, as errs of err>3; f itself if there is none.
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

// unknown is the error about a field that there is not.
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

// list says which fields there are.
func (f *Fields) list() string {
	if f.Known != "" {
		return f.Known
	}
	return strings.Join(f.names(), " ")
}

// names are those that can be used.
func (f *Fields) names() []string {
	out := make([]string, 0, len(f.All))
	for i := range f.All {
		if f.All[i].Refuse == "" {
			out = append(out, f.All[i].Name)
		}
	}
	return out
}

// OneOf is a Check for a field whose values are known. Case does not matter.
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
