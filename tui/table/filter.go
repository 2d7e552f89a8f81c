package table

import (
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/query"
)

// Fields that are not columns: err is that a row tells of an error, and what; dur is how long it took, whatever that column is called.
const (
	fieldErr = "err"
	fieldDur = "dur"
)

// Fields is what filters of this table can ask for.
func (f *frame) Fields() query.Fields {
	var out query.Fields
	names := slices.Concat(f.fields, f.flags)
	for i := range f.looks {
		names = append(names, f.looks[i].field)
	}
	if took := f.took(); took >= 0 {
		out.Took = f.looks[took].field
	}
	for _, name := range append(names, fieldErr, fieldDur) {
		known := slices.ContainsFunc(out.All, func(f query.Field) bool { return f.Name == name })
		if kind := f.kind(name); kind != 0 && !known {
			out.All = append(out.All, query.Field{Name: name, Kind: kind})
		}
	}
	return out
}

// took is the column that tells how long rows took, -1 where none does.
func (f *frame) took() int {
	return slices.IndexFunc(f.looks, func(l look) bool { return l.took })
}

// column is the one that a field is about, -1 where none is.
func (f *frame) column(field string) int {
	i := slices.IndexFunc(f.looks, func(l look) bool { return l.field == field })
	if i < 0 && field == fieldDur {
		return f.took()
	}
	return i
}

// kind is what a field can be compared as, 0 where there is none of that name.
func (f *frame) kind(field string) (k query.Kind) {
	i := f.column(field)
	switch {
	case slices.Contains(f.fields, field):
		k = query.Text
	case i >= 0 && f.looks[i].figure:
		k = query.Text | query.Figure
	case i >= 0:
		k = query.Text
	case field == fieldErr && f.fails:
		k = query.Text | query.Flag
	}
	if slices.Contains(f.flags, field) {
		k |= query.Flag
	}
	return k
}

// row is a row as filters see it.
func (t *Table[R]) row(r R) query.Row {
	return query.Row{
		Text:  func() string { return t.cfg.Text(r) },
		Field: func(name string) query.Value { return t.value(r, name) },
	}
}

func (t *Table[R]) value(r R, field string) (v query.Value) {
	i := t.column(field)
	switch of := t.cfg.Fields[field]; {
	case of != nil:
		v.Text = of(r)
	case i >= 0:
		v = t.cfg.Columns[i].value(r)
	case field == fieldErr && t.cfg.Failed != nil:
		if v.True = t.cfg.Failed(r); v.True {
			v.Text = t.cfg.Text(r)
		}
	}
	if of := t.cfg.Flags[field]; of != nil {
		v.True = of(r)
	}
	return v
}
