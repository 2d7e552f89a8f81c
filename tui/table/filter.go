package table

import (
	"maps"
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/query"
)

// Fields that are not columns: err is that a row tells of an error, and what; dur is how long it took, whatever that column is called.
const (
	fieldErr = "err"
	fieldDur = "dur"
)

// Fields is what filters of this table can ask for.
func (t *Table[R]) Fields() query.Fields {
	var f query.Fields
	names := slices.Concat(slices.Sorted(maps.Keys(t.cfg.Fields)), slices.Sorted(maps.Keys(t.cfg.Flags)))
	for i := range t.cfg.Columns {
		names = append(names, t.cfg.Columns[i].field())
	}
	if took := t.took(); took != nil {
		f.Took = took.field()
	}
	for _, name := range append(names, fieldErr, fieldDur) {
		known := slices.ContainsFunc(f.All, func(f query.Field) bool { return f.Name == name })
		if kind := t.kind(name); kind != 0 && !known {
			f.All = append(f.All, query.Field{Name: name, Kind: kind})
		}
	}
	return f
}

// took is the column that tells how long rows took, nil where none does.
func (t *Table[R]) took() *Column[R] {
	i := slices.IndexFunc(t.cfg.Columns, func(c Column[R]) bool { return c.Took })
	if i < 0 {
		return nil
	}
	return &t.cfg.Columns[i]
}

// column is the one that a field is about, nil where none is.
func (t *Table[R]) column(field string) *Column[R] {
	for i := range t.cfg.Columns {
		if c := &t.cfg.Columns[i]; c.field() == field {
			return c
		}
	}
	if field == fieldDur {
		return t.took()
	}
	return nil
}

// kind is what a field can be compared as, 0 where there is none of that name.
func (t *Table[R]) kind(field string) (k query.Kind) {
	c := t.column(field)
	switch {
	case t.cfg.Fields[field] != nil:
		k = query.Text
	case c != nil && c.Figure != nil:
		k = query.Text | query.Figure
	case c != nil:
		k = query.Text
	case field == fieldErr && t.cfg.Failed != nil:
		k = query.Text | query.Flag
	}
	if t.cfg.Flags[field] != nil {
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
	c := t.column(field)
	switch of := t.cfg.Fields[field]; {
	case of != nil:
		v.Text = of(r)
	case c != nil:
		v = c.value(r)
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
