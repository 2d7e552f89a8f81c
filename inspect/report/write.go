package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// Format is a way to print.
type Format string

// The formats.
const (
	Text Format = "table"
	Wide Format = "wide"
	JSON Format = "json"
	YAML Format = "yaml"
)

// ParseFormat understands the -o flag; "" is a table.
func ParseFormat(s string) (Format, error) {
	all := []Format{Text, Wide, JSON, YAML}
	if s == "" {
		return Text, nil
	}
	if !slices.Contains(all, Format(s)) {
		return "", fmt.Errorf("unknown format %q: want table, wide, json or yaml", s)
	}
	return Format(s), nil
}

// Write prints a table. Text is truncated to width columns; 0 truncates nothing, for example in a pipe.
func Write(w io.Writer, t *Table, format Format, width int) error {
	var out []byte
	switch format {
	case JSON, YAML:
		compact, err := encode(t)
		if err != nil {
			return fmt.Errorf("encode %s: %w", t.Key, err)
		}
		compact = human.JSON(compact)
		if format == YAML {
			out, err = yamlOf(compact)
		} else {
			var b bytes.Buffer
			err = json.Indent(&b, compact, "", "  ")
			out = append(b.Bytes(), '\n')
		}
		if err != nil {
			return fmt.Errorf("encode %s: %w", t.Key, err)
		}
	case Text, Wide:
		var b strings.Builder
		p := printer{out: &b, wide: format == Wide, width: width}
		if err := p.table(t, 0); err != nil {
			return fmt.Errorf("print %s: %w", t.Key, err)
		}
		out = []byte(strings.TrimLeft(b.String(), "\n"))
	}
	_, err := w.Write(out)
	return err
}

// encode makes JSON: facts and parts as fields in their order, rows under items.
func encode(t *Table) ([]byte, error) {
	if t.Raw != nil {
		return t.Raw, nil
	}
	var o object
	for _, f := range t.Facts {
		if f.Key != "" && f.Value.data != nil {
			o.add(f.Key, f.Value.data)
		}
	}
	if t.Columns != nil {
		rows, err := encodeRows(t)
		if err != nil {
			return nil, err
		}
		o.add("items", rows)
	}
	for _, s := range t.Sections {
		text, err := encodePart(s)
		if err != nil {
			return nil, err
		}
		o.add(s.Key, text)
	}
	return o.encode()
}

// encodePart makes a list of a part that has nothing but rows.
func encodePart(t *Table) (json.RawMessage, error) {
	if t.Columns != nil && len(t.Facts) == 0 && len(t.Sections) == 0 {
		return encodeRows(t)
	}
	return encode(t)
}

func encodeRows(t *Table) (json.RawMessage, error) {
	rows := []json.RawMessage{}
	for _, row := range t.Rows {
		var o object
		for i, c := range t.Columns {
			if c.Key != "" && row[i].data != nil {
				o.add(c.Key, row[i].data)
			}
		}
		text, err := o.encode()
		if err != nil {
			return nil, err
		}
		rows = append(rows, text)
	}
	return json.Marshal(rows)
}

// object is a JSON object whose fields keep their order.
type object struct {
	keys   []string
	values []any
}

func (o *object) add(key string, v any) {
	o.keys, o.values = append(o.keys, key), append(o.values, v)
}

func (o *object) encode() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, key := range o.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, v := range []any{key, o.values[i]} {
			text, err := json.Marshal(v)
			if err != nil {
				return nil, err
			}
			if j == 1 {
				b.WriteByte(':')
			}
			b.Write(text)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
