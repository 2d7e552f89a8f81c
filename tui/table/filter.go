package table

import (
	"slices"

	"github.com/kubeloupe/kubeloupe/tui/query"
)

// Fields is what filters of this table can ask for.
func (t *Table[R]) Fields() query.Fields {
	f := query.Fields{Err: t.cfg.Failed != nil}
	for name := range t.cfg.Fields {
		f.Names = append(f.Names, name)
	}
	slices.Sort(f.Names)
	for i := range t.cfg.Columns {
		c := &t.cfg.Columns[i]
		f.Names = append(f.Names, c.field())
		if c.Took && f.Took == "" {
			f.Took = c.field()
		}
	}
	return f
}

// row is a row as filters see it.
func (t *Table[R]) row(r R) query.Row {
	return query.Row{
		Text:  func() string { return t.cfg.Text(r) },
		Field: func(name string) query.Value { return t.value(r, name) },
		Err:   t.cfg.Failed != nil && t.cfg.Failed(r),
	}
}

func (t *Table[R]) value(r R, name string) query.Value {
	if of := t.cfg.Fields[name]; of != nil {
		return query.Value{Text: of(r)}
	}
	for i := range t.cfg.Columns {
		if c := &t.cfg.Columns[i]; c.field() == name {
			return c.value(r)
		}
	}
	return query.Value{}
}
