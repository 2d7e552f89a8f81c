package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/yamlfield"
)

const (
	apiVersion = "kubelet.config.k8s.io/v1beta1"
	kind       = "KubeletConfiguration"

	// maxNodes limits the work on one file, with aliases expanded.
	maxNodes = 200_000
)

// A decoder applies one YAML or JSON document to a KubeletConfiguration. Maps merge, lists and scalars replace, null
// clears. It reports every value that does not fit and decodes the rest.
type decoder struct {
	file   string
	report *report
	nodes  int
}

// decode adds the document in data to kc.
func decode(file string, data []byte, kc *kubeletv1beta1.KubeletConfiguration, r *report) {
	d := &decoder{file: file, report: r}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		d.problem(0, "", "the file is empty; it must hold a %s of %s", kind, apiVersion)
		return
	case err != nil:
		d.syntax(err)
		return
	}
	d.rest(dec)
	root := yamlfield.Resolve(&doc)
	if root == nil || root.Kind != yaml.MappingNode {
		d.problem(doc.Line, "", "the document is not a mapping; it must hold a %s of %s", kind, apiVersion)
		return
	}
	if d.header(root) {
		d.value(root, reflect.ValueOf(kc).Elem(), "")
	}
}

// rest reports a second document. An empty one is nothing: a file may end with ---.
func (d *decoder) rest(dec *yaml.Decoder) {
	for {
		var next yaml.Node
		switch err := dec.Decode(&next); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			d.syntax(err)
			return
		}
		if n := yamlfield.Resolve(&next); n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() != "!!null" {
			d.problem(next.Line, "", "a second document starts here; one file holds one %s", kind)
			return
		}
	}
}

// syntax reports a YAML parser's error, "yaml: line N: what".
func (d *decoder) syntax(err error) {
	line, detail := yamlfield.ParseError(err)
	d.problem(line, "", "%s", detail)
}

// header checks apiVersion and kind, because field errors are not useful for a file of another kind.
func (d *decoder) header(root *yaml.Node) bool {
	ok := true
	for _, want := range []struct{ field, value string }{{"apiVersion", apiVersion}, {"kind", kind}} {
		found := yamlfield.Get(root, want.field)
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

// value decodes n into v.
func (d *decoder) value(n *yaml.Node, v reflect.Value, path string) {
	line := n.Line
	if n = yamlfield.Resolve(n); n == nil {
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
	fields := maps.Collect(jsonFields(v.Type()))
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
		if x := yamlfield.Resolve(p.value); x != nil && x.Kind == yaml.ScalarNode && x.ShortTag() == "!!null" {
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

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
