package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logsapi "k8s.io/component-base/logs/api/v1"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
)

const (
	apiVersion = "kubelet.config.k8s.io/v1beta1"
	kind       = "KubeletConfiguration"

	// maxNodes bounds the work on one file, aliases expanded.
	maxNodes = 200_000
)

// A decoder writes one YAML or JSON document onto a KubeletConfiguration. Maps merge, lists and scalars replace, null
// clears. Everything that does not fit is reported; the rest is still decoded.
type decoder struct {
	file   string
	report *report
	nodes  int
}

// decode adds the document in data to kc.
func decode(file string, data []byte, kc *kubeletv1beta1.KubeletConfiguration, r *report) {
	d := &decoder{file: file, report: r}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		d.problem(0, "", "the file is empty; it must hold a %s of %s", kind, apiVersion)
		return
	case err != nil:
		d.syntax(err)
		return
	}
	if err := dec.Decode(&next); err == nil {
		d.problem(next.Line, "", "a second document starts here; one file holds one %s", kind)
	} else if !errors.Is(err, io.EOF) {
		d.syntax(err)
	}
	root := resolve(&doc)
	if root == nil || root.Kind != yaml.MappingNode {
		d.problem(doc.Line, "", "the document is not a mapping; it must hold a %s of %s", kind, apiVersion)
		return
	}
	if d.header(root) {
		d.value(root, reflect.ValueOf(kc).Elem(), "")
	}
}

// syntax reports the YAML parser's "yaml: line N: what".
func (d *decoder) syntax(err error) {
	line, detail := 0, strings.TrimPrefix(err.Error(), "yaml: ")
	if place, rest, ok := strings.Cut(detail, ": "); ok {
		if n, err := strconv.Atoi(strings.TrimPrefix(place, "line ")); err == nil {
			line, detail = n, rest
		}
	}
	d.problem(line, "", "%s", detail)
}

// header checks apiVersion and kind, since field errors mean little for a file of another kind.
func (d *decoder) header(root *yaml.Node) bool {
	ok := true
	for _, want := range []struct{ field, value string }{{"apiVersion", apiVersion}, {"kind", kind}} {
		var found *yaml.Node
		for i := 0; i+1 < len(root.Content); i += 2 {
			if root.Content[i].Value == want.field {
				found = root.Content[i+1]
			}
		}
		switch {
		case found == nil:
			d.problem(0, want.field, "missing; must be %s", want.value)
			ok = false
		case found.Value != want.value:
			d.problem(found.Line, want.field, "%q is not supported; must be %s", found.Value, want.value)
			ok = false
		}
	}
	return ok
}

func (d *decoder) problem(line int, field, format string, args ...any) {
	d.report.problems = append(d.report.problems, Problem{File: d.file, Line: line, Field: field, Detail: fmt.Sprintf(format, args...)})
}

// value decodes n onto v.
func (d *decoder) value(n *yaml.Node, v reflect.Value, path string) {
	line := n.Line
	if n = resolve(n); n == nil {
		d.problem(line, path, "the alias points nowhere")
		return
	}
	if d.nodes++; d.nodes >= maxNodes {
		if d.nodes == maxNodes {
			d.problem(line, path, "the file is too large: more than %d values", maxNodes)
		}
		return
	}
	if path != "" {
		d.report.at[path] = origin{file: d.file, line: line}
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		v.SetZero()
		return
	}
	if v.Kind() == reflect.Pointer {
		elem := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			elem.Elem().Set(v.Elem())
		}
		v.Set(elem)
		v = v.Elem()
	}
	switch {
	case !isLeaf(v.Type()):
		d.object(n, v, path)
	case v.Kind() == reflect.Map:
		d.dict(n, v, path)
	case v.Kind() == reflect.Slice:
		d.list(n, v, path)
	default:
		if n.Kind != yaml.ScalarNode || !scalar(n, v) {
			d.problem(line, path, "%s is not %s", show(n), describe(v.Type()))
		}
	}
}

func (d *decoder) object(n *yaml.Node, v reflect.Value, path string) {
	fields := jsonFields(v.Type())
	for _, p := range d.pairs(n, path) {
		child := join(path, p.key)
		index, ok := fields[p.key]
		if !ok {
			d.problem(p.line, child, "unknown field%s", didYouMean(p.key, slices.Sorted(maps.Keys(fields))))
			continue
		}
		d.value(p.value, v.FieldByIndex(index), child)
	}
}

func (d *decoder) dict(n *yaml.Node, v reflect.Value, path string) {
	merged := reflect.MakeMap(v.Type())
	for it := v.MapRange(); it.Next(); {
		merged.SetMapIndex(it.Key(), it.Value())
	}
	for _, p := range d.pairs(n, path) {
		key := reflect.ValueOf(p.key).Convert(v.Type().Key())
		if x := resolve(p.value); x != nil && x.Kind == yaml.ScalarNode && x.ShortTag() == "!!null" {
			merged.SetMapIndex(key, reflect.Value{})
			continue
		}
		elem := reflect.New(v.Type().Elem()).Elem()
		d.value(p.value, elem, fmt.Sprintf("%s[%q]", path, p.key))
		merged.SetMapIndex(key, elem)
	}
	v.Set(merged)
}

func (d *decoder) list(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		d.problem(n.Line, path, "%s is not %s", show(n), describe(v.Type()))
		return
	}
	list := reflect.MakeSlice(v.Type(), 0, min(len(n.Content), 1024))
	for i, item := range n.Content {
		elem := reflect.New(v.Type().Elem()).Elem()
		d.value(item, elem, fmt.Sprintf("%s[%d]", path, i))
		list = reflect.Append(list, elem)
	}
	v.Set(list)
}

// scalar decodes a scalar node; false if it does not fit. Types are strict, as in JSON: no number for a string.
func scalar(n *yaml.Node, v reflect.Value) bool {
	tag := n.ShortTag()
	text := tag == "!!str" || tag == "!!timestamp"
	if u, ok := v.Addr().Interface().(json.Unmarshaler); ok {
		raw := []byte(n.Value)
		if text {
			raw, _ = json.Marshal(n.Value)
		}
		return json.Valid(raw) && u.UnmarshalJSON(raw) == nil
	}
	switch v.Kind() {
	case reflect.String:
		if text {
			v.SetString(n.Value)
		}
		return text
	case reflect.Bool:
		var b bool
		// Plain yes, no, on and off are booleans too: upstream reads YAML 1.1.
		if (tag != "!!bool" && n.Style != 0) || n.Decode(&b) != nil {
			return false
		}
		v.SetBool(b)
		return true
	case reflect.Int32, reflect.Int64:
		var i int64
		if tag != "!!int" || n.Decode(&i) != nil || v.OverflowInt(i) {
			return false
		}
		v.SetInt(i)
		return true
	case reflect.Uint32:
		var i uint64
		if tag != "!!int" || n.Decode(&i) != nil || v.OverflowUint(i) {
			return false
		}
		v.SetUint(i)
		return true
	case reflect.Float64:
		var f float64
		if (tag != "!!int" && tag != "!!float") || n.Decode(&f) != nil {
			return false
		}
		v.SetFloat(f)
		return true
	default:
		return false
	}
}

// describe says what a value of type t must be.
func describe(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[metav1.Duration](), reflect.TypeFor[logsapi.TimeOrMetaDuration]():
		return `a duration such as "1m30s"`
	case reflect.TypeFor[metav1.Time]():
		return `a time such as "2026-01-02T15:04:05Z"`
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int32, reflect.Int64:
		return fmt.Sprintf("a whole number of at most %d bits", t.Bits())
	case reflect.Uint32:
		return "a whole number that is not negative"
	case reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string (numbers and booleans need quotes)"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		if isLeaf(t) && t.Kind() == reflect.Struct {
			return `a quantity such as "500Mi"`
		}
		return "a mapping"
	default:
		return "a " + t.String()
	}
}

// show is a node as the user wrote it, shortened.
func show(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		if len(n.Value) > 60 {
			return fmt.Sprintf("%.60q...", n.Value)
		}
		if n.Style == 0 {
			return n.Value
		}
		return fmt.Sprintf("%q", n.Value)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
