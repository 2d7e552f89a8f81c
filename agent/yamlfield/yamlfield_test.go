package yamlfield_test

import (
	"errors"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/kubeloupe/kubeloupe/agent/yamlfield"
)

const text = `spec: &s
  containers:
  - name: web
    image: web:1
  - name: side
metadata:
  labels:
    a.b/c: x
    a: {b/c: y}
copy: *s
`

func TestLine(t *testing.T) {
	var doc, none yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"": 1, "spec": 1, "spec.containers": 2, "spec.containers[0]": 3, "spec.containers[0].image": 4, "spec.containers[1].name": 5,
		"spec.containers[1].image": 5, "spec.containers[2].image": 2, "spec.containers[-1]": 2, "spec.containers[0": 2, "nothing.here": 1,
		"metadata.labels[a.b/c]": 8, `metadata.labels["a.b/c"]`: 8, "metadata.labels.a.b/c": 8, "metadata.labels.a": 9, "metadata.labels.a.z": 9,
		"copy.containers[0].image": 4, "spec[0]": 1, "metadata.labels.a.b/c.d": 8,
	} {
		if got := yamlfield.Line(&doc, path); got != want {
			t.Errorf("Line(%q) = %d, want %d", path, got, want)
		}
	}
	if got := yamlfield.Line(&none, "spec"); got != 1 {
		t.Errorf("Line in an empty document = %d, want 1", got)
	}
	root := yamlfield.Resolve(&doc)
	for key, want := range map[string]int{"spec": 1, "copy": 10, "metadata": 7, "name": 0} {
		got := 0
		if v := yamlfield.Get(root, key); v != nil {
			got = v.Line
		}
		if got != want {
			t.Errorf("Get(%q) is on line %d, want %d", key, got, want)
		}
	}
}

// An alias that refers to itself ends.
func TestResolveLoop(t *testing.T) {
	n := &yaml.Node{Kind: yaml.AliasNode}
	n.Alias = n
	if got := yamlfield.Resolve(n); got != nil {
		t.Errorf("got %v, want nil", got)
	}
}

func TestParseError(t *testing.T) {
	for _, c := range []struct {
		err  string
		line int
		text string
	}{
		{"yaml: line 3: did not find expected key", 3, "did not find expected key"},
		{"yaml: unmarshal errors:\n  line 7: key \"a\" already set in map\n  line 9: x", 7, `key "a" already set in map`},
		{"yaml: control characters are not allowed", 0, "control characters are not allowed"},
		{"line 99999999999999999999: x", 0, "line 99999999999999999999: x"},
	} {
		if line, text := yamlfield.ParseError(errors.New(c.err)); line != c.line || text != c.text {
			t.Errorf("ParseError(%q) = %d, %q, want %d, %q", c.err, line, text, c.line, c.text)
		}
	}
}
