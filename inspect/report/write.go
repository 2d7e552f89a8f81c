package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// Format is a way to print.
type Format string

// The formats.
const (
	Text Format = "table"
	Wide Format = "wide"
	Name Format = "name"
	JSON Format = "json"
	YAML Format = "yaml"
)

// FormatNames are the formats for help texts and errors.
const FormatNames = "table, wide, name, json, yaml or jsonpath=TEMPLATE"

// ParseFormat understands the -o flag; "" is a table.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case "":
		return Text, nil
	case Text, Wide, Name, JSON, YAML:
		return f, nil
	}
	if path, ok := strings.CutPrefix(s, pathPrefix); ok {
		if _, err := parsePath(path); err != nil {
			return "", err
		}
		return Format(s), nil
	}
	return "", fmt.Errorf("%q: must be %s", s, FormatNames)
}

// Write prints a table. Text is truncated to width columns; 0 truncates nothing, for example in a pipe.
func Write(w io.Writer, t *Table, format Format, width int) error {
	var out []byte
	switch format {
	case JSON, YAML:
		fallthrough
	default: // jsonpath
		compact, err := encode(t)
		if err != nil {
			return fmt.Errorf("encode %s: %w", t.Key, err)
		}
		if err := Object(w, compact, format); err != nil {
			return fmt.Errorf("encode %s: %w", t.Key, err)
		}
		return nil
	case Name:
		out = names(t)
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

// names are the names of the rows, or of the table's only object, a line each, as other commands take them.
func names(t *Table) []byte {
	var b bytes.Buffer
	for _, name := range t.names() {
		b.WriteString(human.Line(name) + "\n")
	}
	return b.Bytes()
}

// OfObject reports whether Object writes the format.
func OfObject(f Format) bool {
	return f == JSON || f == YAML || strings.HasPrefix(string(f), pathPrefix)
}

// Object writes a JSON object in the format JSON, YAML or jsonpath=TEMPLATE.
func Object(w io.Writer, compact []byte, format Format) error {
	var out []byte
	var err error
	path, isPath := strings.CutPrefix(string(format), pathPrefix)
	switch {
	case isPath:
		return writePath(w, compact, path)
	case format == YAML:
		out, err = yamlOf(human.JSON(compact))
	default:
		var b bytes.Buffer
		err = json.Indent(&b, human.JSON(compact), "", "  ")
		out = append(b.Bytes(), '\n')
	}
	if err != nil {
		return err
	}
	_, err = w.Write(out)
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
