// Package yamlfield finds the line of a field in YAML, and the line and text of a YAML parser's error.
//
// It owns the notation of paths, such as spec.containers[0].image or nodeLabels["a.b/c"], keeps no state, runs no goroutine and
// publishes nothing. The authors of manifests and configuration files write the texts; callers limit their size.
package yamlfield

import (
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxAliases limits a chain of aliases.
const maxAliases = 10

// Resolve follows aliases and enters documents. It returns nil if there is no value.
func Resolve(n *yaml.Node) *yaml.Node {
	for range maxAliases {
		switch {
		case n == nil:
			return nil
		case n.Kind == yaml.AliasNode:
			n = n.Alias
		case n.Kind == yaml.DocumentNode && len(n.Content) == 1:
			n = n.Content[0]
		case n.Kind == yaml.MappingNode, n.Kind == yaml.SequenceNode, n.Kind == yaml.ScalarNode:
			return n
		default:
			return nil
		}
	}
	return nil
}

// Line returns the line of the field at path below root, from 1: of its key in a mapping, of the item in a list. If the
// field does not exist, it is the line of the nearest parent that exists. An empty tree has the line 1.
func Line(root *yaml.Node, path string) int {
	n := Resolve(root)
	if n == nil {
		return 1
	}
	line := max(n.Line, 1)
	for path != "" && n != nil {
		key, value, rest := child(n, path)
		if value == nil {
			break
		}
		line, n, path = key.Line, Resolve(value), rest
	}
	return line
}

// Get returns the value of a key of a mapping; nil if n is not a mapping or does not have the key. If the key occurs
// several times, the last one counts.
func Get(n *yaml.Node, key string) (value *yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			value = n.Content[i+1]
		}
	}
	return value
}

// child finds the child of n at the beginning of path: the node that has its line, the child, and the rest of the path.
func child(n *yaml.Node, path string) (key, value *yaml.Node, rest string) {
	path = strings.TrimPrefix(path, ".")
	if inner, after, ok := bracket(path); ok {
		if i, err := strconv.Atoi(inner); err == nil && n.Kind == yaml.SequenceNode {
			if i < 0 || i >= len(n.Content) {
				return nil, nil, ""
			}
			return n.Content[i], n.Content[i], after
		}
		if text, err := strconv.Unquote(inner); err == nil {
			inner = text
		}
		path = inner + after
	}
	if n.Kind != yaml.MappingNode {
		return nil, nil, ""
	}
	// Keys can contain dots, so the longest match counts.
	for i := 0; i+1 < len(n.Content); i += 2 {
		after, ok := strings.CutPrefix(path, n.Content[i].Value)
		fits := ok && (after == "" || after[0] == '.' || after[0] == '[')
		if fits && (key == nil || len(n.Content[i].Value) > len(key.Value)) {
			key, value, rest = n.Content[i], n.Content[i+1], after
		}
	}
	return key, value, rest
}

// bracket splits [inner]after.
func bracket(path string) (inner, after string, ok bool) {
	inside, ok := strings.CutPrefix(path, "[")
	if !ok {
		return "", "", false
	}
	return strings.Cut(inside, "]")
}

// parserLine matches the beginning of a YAML parser's error, and the first of several.
var parserLine = regexp.MustCompile(`(?s)^(?:unmarshal errors:\s+)?line (\d+): ([^\n]+)`)

// ParseError returns the line, from 1, and the text of an error of the YAML parsers that the project uses. The line is
// 0 if the error has none.
func ParseError(err error) (line int, text string) {
	text = strings.TrimPrefix(err.Error(), "yaml: ")
	if m := parserLine.FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			return n, m[2]
		}
	}
	return 0, text
}
